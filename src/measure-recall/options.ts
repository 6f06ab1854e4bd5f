import type { PolicyKind } from '../recall/policy-card.js';
import type { SearchEngine } from '../search/search-types.js';

export interface QualifyOptions {
  readonly engine: SearchEngine;
  /** Default sampled. */
  readonly policy?: PolicyKind;
  /** 1..2³²−1; the same seed gives the same card to the bit. */
  readonly seed?: number;
  /** Proteins of the release that are searched with; each is left out of what it finds. Default 200. */
  readonly queryCount?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: QualifyProgress) => void;
}

export interface QualifyProgress {
  readonly stage: 'qualify';
  readonly done: number;
  readonly total: number;
}
