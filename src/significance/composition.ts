import { aminoAcidCounts } from '../sequence/amino-acid-counts.js';
import { BACKGROUND } from '../sequence/residue-scales.js';
import { AMINO_ACIDS } from '../sequence/substitution.js';
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

const CYSTEINE = AMINO_ACIDS.indexOf('C');
const ROOTS = Float64Array.from(BACKGROUND, Math.sqrt);
/** Ratio of equal residues below which pairs count as this. Proteins without a common amino acid have none. */
const LEAST_RATIO = 0.05;

/**
 * Returns the composition of a sequence in upper-case letters.
 * Shape   shares [20]
 * Range   0 or more; all 0 for a sequence without amino acids
 */
export function compositionOf(sequence: string): Composition {
  const counts = aminoAcidCounts(sequence);
  let total = 0;
  for (const count of counts) total += count;
  const shares = counts.map((count, at) => (total === 0 ? 0 : count / total / ROOTS[at]));
  const { length } = sequence;
  return { length, cysteines: counts[CYSTEINE], shares, membraneShare: membraneShareOf(sequence) };
}

/**
 * Combines the compositions of two proteins. The order does not matter.
 * Unit    `composition` in nats
 * Range   `composition` from ln(LEAST_RATIO); 0 for average compositions
 */
export function pairComposition(a: Composition, b: Composition): PairComposition {
  let ratio = 0;
  for (let index = 0; index < AMINO_ACIDS.length; index += 1) ratio += a.shares[index] * b.shares[index];
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
