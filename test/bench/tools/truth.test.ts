// @module-tag fast

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DomainLabel } from '#bench/tools/labels.js';
import {
  createTruths,
  readRelatedFolds,
  readTruths,
  RELATED_FOLDS,
  withConfirmed,
} from '#bench/tools/truth.js';
import { afterAll, describe, expect, it } from 'vitest';
import { readText } from '../../tools/repository-files.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-truth-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the truths of labelled domains', () => {
  const truths = createTruths(
    relatedFolds([
      'd.51\td.52\tone motif\t',
      'a.1.1\tb.2.3\tcurator\thhsearch x y',
      'c.1.1.1\td.58.2.3\tone\t',
    ]),
  );

  it('count one superfamily as true and different fold groups as false', () => {
    for (const truth of [truths.scope, truths.curated]) {
      expect(truth.kindOf(domain('a.1.1.1'), domain('a.1.1.2'))).toBe('true');
      expect(truth.kindOf(domain('a.1.1.1'), domain('a.1.2.1'))).toBe('left out');
      expect(truth.kindOf(domain('c.2.1.1', 'c.2'), domain('c.3.1.1', 'c.2'))).toBe('left out');
      expect(truth.kindOf(domain('a.1.1.1'), domain('b.1.1.1'))).toBe('false');
    }
  });

  it('leave out the pairs of the list, in both orders, under the curated truth only', () => {
    for (const [one, other] of [
      ['d.51.1.1', 'd.52.7.2'],
      ['a.1.1.9', 'b.2.3.1'],
      ['c.1.1.1', 'd.58.2.3'],
    ]) {
      expect(truths.curated.kindOf(domain(one), domain(other))).toBe('left out');
      expect(truths.curated.kindOf(domain(other), domain(one))).toBe('left out');
      expect(truths.scope.kindOf(domain(one), domain(other))).toBe('false');
    }
  });

  it('leave out nothing beside the groups that the list names', () => {
    for (const [one, other] of [
      ['d.5.1.1', 'd.52.7.2'],
      ['d.51.1.1', 'd.5.2.1'],
      ['a.1.2.1', 'b.2.3.1'],
      ['a.1.1.1', 'b.2.4.1'],
      ['a.1.11.1', 'b.2.3.1'],
      ['c.1.1.2', 'd.58.2.3'],
      ['a.1.1.1', 'd.51.1.1'],
    ]) {
      expect(truths.curated.kindOf(domain(one), domain(other))).toBe('false');
    }
  });

  it('keep a pair of one superfamily true, although the list names its folds', () => {
    const both = createTruths(() => true);
    expect(both.curated.kindOf(domain('a.1.1.1'), domain('a.1.1.2'))).toBe('true');
  });
});

describe('the list of related folds', () => {
  it('replaces confirmed pairs and keeps those of the literature', () => {
    const list = 'one\tother\treason\nd.51\td.52\tone motif\na.1.1\tb.1.1\told\thhsearch old\n';
    const confirmed = [
      { one: 'c.2.1', other: 'c.66.1', evidence: 'hhsearch q t' },
      { one: 'a.2.1', other: 'd.1.1', evidence: 'hhsearch x y' },
    ];
    const text = withConfirmed(list, confirmed);
    expect(text.split('\n').map((line) => line.split('\t'))).toEqual([
      ['one', 'other', 'reason', 'evidence'],
      ['d.51', 'd.52', 'one motif', ''],
      ['a.2.1', 'd.1.1', 'curator of SCOP40c', 'hhsearch x y'],
      ['c.2.1', 'c.66.1', 'curator of SCOP40c', 'hhsearch q t'],
      [''],
    ]);
    expect(withConfirmed(text, confirmed)).toBe(text);
  });

  it('names two different groups in each line, each pair once', () => {
    const lines = readText(RELATED_FOLDS).trim().split('\n').slice(1);
    const pairs = lines.map((line) => line.split('\t').slice(0, 2));
    for (const pair of pairs) {
      for (const side of pair) expect(side).toMatch(/^[a-g](\.\d+){1,3}$/);
      expect(pair[0]).not.toBe(pair[1]);
    }
    expect(new Set(pairs.map((pair) => [...pair].sort().join(' '))).size).toBe(pairs.length);
    const { curated, scope } = readTruths();
    const [one, other] = [domain('d.51.1.1'), domain('d.52.1.1')];
    expect([scope.kindOf(one, other), curated.kindOf(one, other)]).toEqual(['false', 'left out']);
  });
});

function relatedFolds(lines: readonly string[]) {
  const path = join(folder, 'related.tsv');
  writeFileSync(path, ['one\tother\treason\tevidence', ...lines, ''].join('\n'));
  return readRelatedFolds(path);
}

function domain(family: string, foldGroup?: string): DomainLabel {
  const parts = family.split('.');
  return {
    family,
    isFamily: parts[3] !== '0',
    superfamily: parts.slice(0, 3).join('.'),
    foldGroup: foldGroup ?? parts.slice(0, 2).join('.'),
    structuralClass: parts[0],
    isDev: true,
    description: '',
  };
}
