import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import type { DomainLabel } from './labels.js';

/*
 * Which pairs of labelled domains count as true hits, and which as false ones. Every table of false hits has two
 * truths:
 *
 * - SCOPe: a pair of one superfamily is true. A pair of different fold groups is false. All others are left out.
 * - curated: as above, and the pairs of related-folds.tsv are left out too. They are homologs that SCOPe classifies in
 *   different folds: with a reason from the literature, or confirmed by hhsearch (bench/related-folds).
 */

/** Path of the list below the root of the repository. */
export const RELATED_FOLDS = join('bench', 'calibration', 'related-folds.tsv');
const HEADER = 'one\tother\treason\tevidence';

/** How a pair of different domains counts. */
export type PairKind = 'true' | 'false' | 'left out';

/** One definition of true and false pairs. */
export interface Truth {
  readonly name: 'SCOPe' | 'curated';
  kindOf(query: DomainLabel, target: DomainLabel): PairKind;
}

/** Both truths, in the order of the tables. */
export interface Truths {
  readonly scope: Truth;
  readonly curated: Truth;
}

/** Returns whether two domains of different fold groups are thought to be homologs. */
export type AreRelated = (a: DomainLabel, b: DomainLabel) => boolean;

/** Reads both truths of the repository. */
export function readTruths(): Truths {
  return createTruths(readRelatedFolds(join(loadConfig(process.env).packageFolder, RELATED_FOLDS)));
}

/** Creates both truths. @param areRelated  pairs that the curated truth leaves out */
export function createTruths(areRelated: AreRelated): Truths {
  const kindOf = (query: DomainLabel, target: DomainLabel): PairKind => {
    if (query.superfamily === target.superfamily) return 'true';
    return query.foldGroup === target.foldGroup ? 'left out' : 'false';
  };
  return {
    scope: { name: 'SCOPe', kindOf },
    curated: {
      name: 'curated',
      kindOf: (query, target) => {
        const kind = kindOf(query, target);
        return kind === 'false' && areRelated(query, target) ? 'left out' : kind;
      },
    },
  };
}

/**
 * Reads lines `one <tab> other <tab> reason <tab> evidence` below a header. Each side is a fold, superfamily or family
 * (`c.23`, `c.23.16`, `a.4.1.12`), with everything below it.
 */
export function readRelatedFolds(path: string): AreRelated {
  const others = new Map<string, Set<string>>();
  const add = (one: string, other: string): unknown =>
    others.set(one, (others.get(one) ?? new Set()).add(other));
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean).slice(1)) {
    const [one, other] = line.split('\t');
    add(one, other);
    add(other, one);
  }
  return (a, b) =>
    groupsOf(a.family).some((group) => {
      const partners = others.get(group);
      return partners !== undefined && groupsOf(b.family).some((other) => partners.has(other));
    });
}

/** Returns the SCOPe ids of the fold, the superfamily and the family, from the id of a family. */
function groupsOf(family: string): readonly string[] {
  const parts = family.split('.');
  return [2, 3, 4].map((count) => parts.slice(0, count).join('.'));
}

/** A pair of superfamilies that a profile-profile alignment confirms. */
export interface ConfirmedPair {
  readonly one: string;
  readonly other: string;
  readonly evidence: string;
}

/**
 * Replaces the confirmed pairs of the list. Lines without evidence are from the literature and stay.
 * @param text  the list
 */
export function withConfirmed(text: string, confirmed: readonly ConfirmedPair[]): string {
  const [, ...lines] = text.split('\n').filter(Boolean);
  const fromLiterature = lines
    .map((line) => line.split('\t'))
    .filter(([, , , evidence = '']) => evidence === '')
    .map(([one, other, reason]) => `${one}\t${other}\t${reason}\t`);
  const added = confirmed
    .map(({ one, other, evidence }) => `${one}\t${other}\tcurator of SCOP40c\t${evidence}`)
    .sort();
  return [HEADER, ...fromLiterature, ...added, ''].join('\n');
}
