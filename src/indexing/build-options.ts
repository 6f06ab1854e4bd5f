import type { FoundRelease } from '../release/catalog.js';
import type { Encoder } from '../encoder/encoder.js';
import type { ProteinInput } from './sources/protein-source.js';

export interface BuildOptions {
  readonly indexesFolder: string;
  readonly slug: string;
  /** Default: the slug. */
  readonly title?: string;
  readonly description?: string;
  readonly isSimulated?: boolean;
  readonly input: ProteinInput;
  readonly encoder: Encoder;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BuildProgress) => void;
}

/** `read` counts bytes of the input, `encode` residues, `write` proteins. */
export interface BuildProgress {
  readonly stage: 'read' | 'encode' | 'write';
  readonly done: number;
  readonly total: number;
}

export interface BuildReport {
  readonly release: FoundRelease;
  /** True where this very release was there already and nothing was encoded. */
  readonly isKnown: boolean;
  /** Replaced letters by the letter that was written. */
  readonly replaced: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly sizeBytes: number;
  /** By this run: without those of an interrupted run before. */
  readonly encodedResidues: number;
  readonly encodeMs: number;
}
