import type { KernelBackend, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import type { Encoder } from '../encoder/encoder.js';

export interface CalibrateOptions {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  /** Encodes the reversed and shuffled sequences of the second, reported population. */
  readonly encoder: Encoder;
  /** 1..2³²−1; the same seed gives the same calibration to the bit. */
  readonly seed?: number;
  /** Proteins whose pairs are scored; 2..65,535. More take quadratically longer and resolve smaller probabilities. */
  readonly sampleCount?: number;
  /** Known relatives (cluster, family) by target id: proteins with one label are left out as pairs. */
  readonly labels?: ReadonlyMap<string, string>;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: CalibrateProgress) => void;
}

export interface CalibrateProgress {
  readonly stage: 'calibrate' | 'decoys' | 'measure' | 'panel';
  readonly done: number;
  readonly total: number;
}
