import type { MaxSimSums } from '../../src/kernels/kernels.js';

/** Computes the sums of one query with all targets. */
export type RuntimeSearch = () => Promise<MaxSimSums>;

/** Time of another program for the same work as ours. */
export interface PeerFigures {
  /** Their seconds ÷ ours. Above 1, ours is faster. */
  readonly ratio?: number;
  /** Present if `ratio` compares their one direction with our two. This ratio compares two directions with two. */
  readonly both_ways_ratio?: number;
  readonly skipped?: string;
  readonly note?: string;
  /** Kernels that OpenBLAS selected for this processor. */
  readonly core?: string;
}
