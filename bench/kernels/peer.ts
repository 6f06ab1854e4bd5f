import type { MaxSimSums } from '../../src/kernels/kernels.js';

/** Sums of one query with all targets. */
export type RuntimeSearch = () => Promise<MaxSimSums>;

/** How long another program takes for what ours does. */
export interface PeerFigures {
  /** Their seconds ÷ ours; above 1 where ours is faster. */
  readonly ratio?: number;
  /** Where `ratio` is of their one direction ÷ our two: of two directions ÷ two. */
  readonly both_ways_ratio?: number;
  readonly skipped?: string;
  readonly note?: string;
  /** Kernels that OpenBLAS chose for this processor. */
  readonly core?: string;
}
