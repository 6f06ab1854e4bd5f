import type { PolicyKind } from '../recall/policy-card.js';
import type { SearchEngine } from '../search/search-types.js';

/** Options of a recall measurement. */
export interface QualifyOptions {
  readonly engine: SearchEngine;
  /** Default: sampled. */
  readonly policy?: PolicyKind;
  /** Range: 1..2³²−1; default 1. Equal seeds give bit-identical cards. */
  readonly seed?: number;
  /** Number of queries, which are proteins of the release. Each is left out of its own results. Default: 200 */
  readonly queryCount?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: QualifyProgress) => void;
}

/** Finished residues of a codebook, or finished queries of a recall measurement. */
export interface QualifyProgress {
  readonly stage: 'codebook' | 'qualify';
  readonly done: number;
  readonly total: number;
}
