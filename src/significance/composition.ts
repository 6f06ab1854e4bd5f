import { BACKGROUND } from '../sequence/residue-scales.js';
import { AMINO_ACIDS, LETTER_COUNT, LETTER_MASK } from '../sequence/substitution.js';
import { pairCysteines, type CysteineCount, type PairCysteines } from './cysteines.js';
import { membraneShareOf } from './membrane.js';

/*
 * What the compositions of a pair add to its score. Two proteins that are both rich in the same amino acids have more
 * equal residues at any place, so that they score higher without a common ancestor: membrane proteins, disordered
 * stretches, proteins of many cysteines. A reversed query shows only part of that, because its best alignment is
 * another one.
 */

/** The composition of a protein. */
export interface Composition extends CysteineCount {
  /**
   * Share of each amino acid ÷ root of its background frequency, in the order of AMINO_ACIDS. The dot product of two
   * proteins is the ratio of equal residues to those of two average proteins.
   */
  readonly shares: readonly number[];
  /** `membraneShareOf` (membrane.ts). */
  readonly membraneShare: number;
}

/** What two compositions say to a null. */
export interface PairComposition {
  readonly cysteines: PairCysteines;
  /** ln of the ratio of equal residues to those of two average proteins. Unit: nats. */
  readonly composition: number;
}

/** Composition and lengths of a pair. */
interface ComposedPair extends Pick<PairComposition, 'composition'> {
  readonly queryLength: number;
  readonly targetLength: number;
}

/** How like compositions lower the coordinate of a pair. */
export interface CompositionModel {
  /** Mean excesses that one unit of gain takes off the coordinate. Unit: 1 ÷ (nats · √residues) */
  readonly weight: number;
  /** Gain up to which pairs count as usual. Unit: nats · √residues. */
  readonly usualGain: number;
}

const indexOf = (letter: string): number => letter.charCodeAt(0) % LETTER_COUNT;
const LETTERS = Uint8Array.from(AMINO_ACIDS, indexOf);
/** Letters of the sequence at work. A search counts each hit, and an array for each would take as long again. */
const COUNTS = new Uint32Array(LETTER_COUNT);
const CYSTEINE = indexOf('C');
const ROOTS = Float64Array.from(BACKGROUND, Math.sqrt);
/** Ratio of equal residues below which pairs count as this. Proteins without a common amino acid have none. */
const LEAST_RATIO = 0.05;

/**
 * Returns the composition of a sequence in upper-case letters.
 * Shape   shares [20]
 * Range   0 or more; all 0 for a sequence without amino acids
 */
export function compositionOf(sequence: string): Composition {
  const { length } = sequence;
  const counts = COUNTS.fill(0);
  for (let at = 0; at < length; at += 1) counts[sequence.charCodeAt(at) & LETTER_MASK] += 1;
  const shares = new Array<number>(LETTERS.length).fill(0);
  let total = 0;
  for (let kind = 0; kind < LETTERS.length; kind += 1) total += counts[LETTERS[kind]];
  for (let kind = 0; kind < LETTERS.length && total > 0; kind += 1)
    shares[kind] = counts[LETTERS[kind]] / total / ROOTS[kind];
  return { length, cysteines: counts[CYSTEINE], shares, membraneShare: membraneShareOf(sequence) };
}

/**
 * Combines the compositions of two proteins. The order does not matter.
 * Unit    `composition` in nats
 * Range   `composition` from ln(LEAST_RATIO); 0 for average compositions
 */
export function pairComposition(a: Composition, b: Composition): PairComposition {
  let ratio = 0;
  for (let index = 0; index < LETTERS.length; index += 1) ratio += a.shares[index] * b.shares[index];
  return { cysteines: pairCysteines(a, b), composition: Math.log(Math.max(LEAST_RATIO, ratio)) };
}

/**
 * Returns what like compositions take off the coordinate of a pair: the weight times the gain beyond the usual one. The
 * gain is ln of the ratio of equal residues for each residue of the shorter protein, divided as the affine score is.
 * Unit   mean excesses
 * Range  0 or more; 0 without a model
 * Source composition-adjusted log odds (Yu & Altschul 2005), summed over an alignment of the shorter protein
 */
export function compositionExcess(
  model: CompositionModel | undefined,
  { composition, queryLength, targetLength }: ComposedPair,
): number {
  if (model === undefined || composition <= 0) return 0;
  const shorter = Math.min(queryLength, targetLength);
  const gain = (composition * shorter) / Math.sqrt(Math.sqrt(queryLength * targetLength));
  return model.weight * Math.max(0, gain - model.usualGain);
}
