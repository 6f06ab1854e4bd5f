import { reversed } from '../../src/significance/control.js';
import type { Place } from './places.js';
import type { DomainLabel } from '../tools/labels.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Two domains of one superfamily. */
export interface DomainPair {
  readonly query: BenchProtein;
  readonly target: BenchProtein;
}

/** A simulated pair of proteins that shares domains, and where they are. */
export interface Fusion {
  readonly query: BenchProtein;
  readonly target: BenchProtein;
  readonly pieces: readonly Piece[];
}

/** A pair of domains in a fusion: its first residues. */
export interface Piece {
  readonly pair: DomainPair;
  readonly queryOffset: number;
  readonly targetOffset: number;
}

/**
 * Pairs of different domains, each the first two of a superfamily of the wanted split.
 * Range  at most one pair per superfamily, in the order of the file
 */
export function domainPairs(
  domains: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
  isWanted: (label: DomainLabel) => boolean,
): readonly DomainPair[] {
  const groups = new Map<string, BenchProtein[]>();
  for (const domain of domains) {
    const label = labels.get(domain.id);
    if (label === undefined || !isWanted(label)) continue;
    const group = groups.get(label.superfamily);
    if (group === undefined) groups.set(label.superfamily, [domain]);
    else group.push(domain);
  }
  return [...groups.values()].flatMap(([query, target]) => (target === undefined ? [] : [{ query, target }]));
}

/**
 * Fuses neighbouring pairs. In a swap the target has the two domains in the other order. In a repeat the target has one
 * domain twice, with a reversed domain of another fold between them; it is searched with one domain.
 */
export function fusionsOf(
  pairs: readonly DomainPair[],
  groupOf: (id: string) => string,
): { readonly swaps: readonly Fusion[]; readonly repeats: readonly Fusion[] } {
  const swaps: Fusion[] = [];
  const repeats: Fusion[] = [];
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [first, second] = [pairs[at], pairs[at + 1]];
    if (groupOf(first.query.id) === groupOf(second.query.id)) continue;
    swaps.push({
      query: joined('swap-query', first.query, second.query),
      target: joined('swap', second.target, first.target),
      pieces: [
        { pair: first, queryOffset: 0, targetOffset: second.target.sequence.length },
        { pair: second, queryOffset: first.query.sequence.length, targetOffset: 0 },
      ],
    });
    const spacer = { id: second.target.id, sequence: reversed(second.target.sequence) };
    const secondOffset = first.target.sequence.length + spacer.sequence.length;
    repeats.push({
      query: first.query,
      target: joined('repeat', first.target, spacer, first.target),
      pieces: [
        { pair: first, queryOffset: 0, targetOffset: 0 },
        { pair: first, queryOffset: 0, targetOffset: secondOffset },
      ],
    });
  }
  return { swaps, repeats };
}

/** The place of an alignment of the two domains in the coordinates of the fusion. */
export function placeInFusion(alone: Place, { queryOffset, targetOffset }: Piece): Place {
  return {
    queryStart: alone.queryStart + queryOffset,
    queryEnd: alone.queryEnd + queryOffset,
    targetStart: alone.targetStart + targetOffset,
    targetEnd: alone.targetEnd + targetOffset,
  };
}

/** The place of both whole domains. */
export function placeOfPiece({ pair, queryOffset, targetOffset }: Piece): Place {
  return {
    queryStart: queryOffset,
    queryEnd: queryOffset + pair.query.sequence.length,
    targetStart: targetOffset,
    targetEnd: targetOffset + pair.target.sequence.length,
  };
}

function joined(kind: string, ...parts: readonly BenchProtein[]): BenchProtein {
  return {
    id: `${kind}-${parts.map(({ id }) => id).join('-')}`,
    sequence: parts.map(({ sequence }) => sequence).join(''),
  };
}
