import { fitExponential, fitTail, type CeiledExcesses, type TailFit } from '../significance/tail-model.js';

/** Share of a bin's pairs above its threshold, far enough out that the two components of the mixture separate. */
export const EXCEEDANCE_SHARE = 0.02;
export const FEWEST_FIT_EXCEEDANCES = 50;
/** Largest excess in the fit of a mixture. Unit: tail coordinate. Clear homologs lie above it. */
const CEILING = 11;
/** Largest excess in the fit of a single exponential. Unit: its mean excess. */
const CAUTIOUS_CEILING = 3;
/** A mixture with a larger share of homologs is rejected. */
const LARGEST_HOMOLOG_SHARE = 0.4;
/**
 * With fewer exceedances the components of the mixture do not separate. The mixture assigns a fifth of the exceedances
 * of 4,000 SCOPe domains to homologs, and none of those of 500 domains.
 */
const FEWEST_MIXTURE_EXCEEDANCES = 25_000;

/** Tail coordinates of one pair of length strata, ascending. */
export interface BinCoordinates {
  readonly pairs: Float64Array;
  /** Reversed-sequence decoys with real proteins if the sample is small (`isSmallSample`); else empty. */
  readonly decoys: Float64Array;
}

/** The tail that all bins share. */
export interface PooledTail {
  /** Undefined if no tail could be fitted. */
  readonly tail: TailFit | undefined;
  /** Largest excess in the fit. Unit: tail coordinate. */
  readonly ceiling: number;
  /** Factor on the exceedance probability of searches with profiles. Range: 0..1; default 1 */
  readonly tailShare?: number;
}

/** Returns whether a sample of this many pairs is too small for a mixture, so that its tail needs decoys. */
export function isSmallSample(pairCount: number): boolean {
  return EXCEEDANCE_SHARE * pairCount < FEWEST_MIXTURE_EXCEEDANCES;
}

/**
 * Fits one tail to the pooled exceedances of all bins. By construction of the tail coordinate, bins differ only in
 * their thresholds. A single bin has too few exceedances to separate unrelated pairs from homologs.
 *
 * A large sample gets the mixture. In a small sample, or one of mostly homologs, a mixture would assign unrelated pairs
 * to homologs. Such a sample gets one exponential under a low ceiling. Homologs mostly have similar lengths, so the
 * exponential is fitted to bins of two different strata if there are any. The remaining homologs make it fall too
 * slowly. Reversed-sequence decoys have no homologs and fall slightly too fast, because they lack the non-homologous
 * similarity of real proteins. The rate of a small sample is the geometric mean of both.
 * @param bins  pairs of strata, row-major; empty below the diagonal
 */
export function fitPooled(bins: readonly BinCoordinates[]): PooledTail {
  const excesses = poolExcesses(bins, 'pairs', CEILING);
  const isEnough = excesses.excesses.length >= FEWEST_MIXTURE_EXCEEDANCES;
  const tail = isEnough ? fitTail(excesses) : undefined;
  if (tail !== undefined && tail.homologShare <= LARGEST_HOMOLOG_SHARE) return { tail, ceiling: CEILING };
  const unlike = unlikeLengths(bins);
  const sorted = poolExcesses(unlike, 'pairs', CEILING).excesses.sort();
  const ceiling = CAUTIOUS_CEILING * quantile(sorted, 1 - 1 / Math.E);
  if (ceiling === 0) return { tail: undefined, ceiling };
  const cautious = fitExponential(poolExcesses(unlike, 'pairs', ceiling));
  return { tail: cautious && betweenDecoys(cautious, poolExcesses(bins, 'decoys', ceiling)), ceiling };
}

/** Returns an exponential at the geometric mean of the rates of pairs and decoys, if the decoys fall faster. */
function betweenDecoys(cautious: TailFit, decoys: CeiledExcesses): TailFit {
  if (decoys.excesses.length < FEWEST_FIT_EXCEEDANCES) return cautious;
  const { lambda } = fitExponential(decoys) ?? cautious;
  return { ...cautious, lambda: Math.sqrt(cautious.lambda * Math.max(cautious.lambda, lambda)) };
}

/*
 * Corrections of the pooled tail for searches with profiles, whose scores differ from those of the sampled pairs.
 *
 * Far out the tail is heavier than where it is fitted. Its causes are profiles contaminated by other homolog sets and
 * folds that are similar without homology, which are too rare to appear in the fit. Hence the least shape.
 *
 * The whole tail is lower than in the sample, for two reasons. Homologs from two rounds of search fall as fast as
 * unrelated pairs, so that the mixture detects few of them. Unrelated proteins that match by their profiles alone are
 * not among the nearest targets, which a search aligns. Hence a share that falls with the share of homologs; without
 * homologs it is 1.
 *
 * Measured on 2,716 dev domains with two rounds of homologs, whose mixture had a homolog share of .12. The observed
 * counts at E = 10 / 1 / .1 / .01 / .001, as multiples of the claimed ones:
 *
 *   shape .05, share 1    .39 / .48 / .55 / .59 / 1.5
 *   shape .06, share .45  .81 / .88 / 1.03 / .96 / 1.8
 */
const PROFILED_SHAPE = 0.06;
const HOMOLOGS_PER_DETECTED = 4.7;
const LEAST_TAIL_SHARE = 0.45;

/** Returns the pooled tail corrected for a release with profiles. */
export function profiledTail({ tail, ceiling }: PooledTail): PooledTail {
  if (tail === undefined) return { tail, ceiling };
  const tailShare = Math.max(LEAST_TAIL_SHARE, 1 - HOMOLOGS_PER_DETECTED * tail.homologShare);
  return { tail: { ...tail, shape: Math.max(PROFILED_SHAPE, tail.shape) }, ceiling, tailShare };
}

/** Returns the bins of two different strata; all bins if there is only one stratum. */
function unlikeLengths(bins: readonly BinCoordinates[]): readonly BinCoordinates[] {
  const strata = Math.sqrt(bins.length);
  return strata === 1 ? bins : bins.filter((_, cell) => cell % (strata + 1) !== 0);
}

/** Pools the excesses of each bin's pairs or decoys over the threshold of its pairs. */
function poolExcesses(
  bins: readonly BinCoordinates[],
  population: keyof BinCoordinates,
  ceiling: number,
): CeiledExcesses {
  const parts = bins.map((bin) => excessesOf(bin[population], thresholdOf(bin.pairs), ceiling).excesses);
  const excesses = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const part of parts) {
    excesses.set(part, start);
    start += part.length;
  }
  return { excesses, ceiling };
}

/**
 * Returns the threshold of a bin: the quantile that EXCEEDANCE_SHARE of its pairs exceed.
 * Shape  [any length], ascending
 * Unit   tail coordinates
 * Range  any finite number; 0 without pairs
 */
export function thresholdOf(coordinates: Float64Array): number {
  return quantile(coordinates, 1 - EXCEEDANCE_SHARE);
}

/**
 * Returns the excesses over a threshold, without those above the ceiling.
 * Shape  [any length] in; as many or fewer out, in the order of the input
 * Unit   tail coordinates
 * Range  0..ceiling out
 */
export function excessesOf(coordinates: Float64Array, threshold: number, ceiling: number): CeiledExcesses {
  const excesses = coordinates
    .map((coordinate) => coordinate - threshold)
    .filter((excess) => excess >= 0 && excess <= ceiling);
  return { excesses, ceiling };
}

/**
 * Returns the empirical quantile of a sample.
 * Shape  [any length], ascending
 * Unit   that of the sample
 * Range  share 0..1; the result is a member of the sample, or 0 if that is empty
 */
export function quantile(sorted: Float64Array, share: number): number {
  if (sorted.length === 0) return 0;
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
