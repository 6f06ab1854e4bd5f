import type { HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import type { ProfileTokenForm } from '../homologs/tokens.js';
import type { FoundRelease } from '../release/catalog.js';
import type { HomologSource } from '../release/release.js';
import type { Encoder } from '../encoder/encoder.js';
import type { GivenEmbeddings } from './embeddings/embeddings.js';
import type { ProteinInput } from './sources/protein-source.js';

/** Where the relatives of a build's proteins come from, and what is made of them. */
export interface BuildHomologs {
  readonly finder: HomologFinder;
  readonly form: ProfileTokenForm;
  readonly rules: HomologRules;
  readonly homologSource: HomologSource;
}

export interface BuildOptions {
  readonly indexesFolder: string;
  readonly slug: string;
  /** Default: the slug. */
  readonly title?: string;
  readonly description?: string;
  readonly isSimulated?: boolean;
  /** False where the release is to stand beside the default of its database. Default true. */
  readonly isDefault?: boolean;
  readonly input: ProteinInput;
  readonly encoder: Encoder;
  /** Gives proteins the tokens of their families; absent for those of the encoder alone. */
  readonly buildHomologs?: BuildHomologs;
  /** Features of the same model that exist already; not with families, whose relatives have none. */
  readonly embeddings?: GivenEmbeddings;
  /** Into how many shards the encoding was divided (`planShards`); absent where it is done here. */
  readonly shardCount?: number;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BuildProgress) => void;
}

/** `read` counts bytes of the input, `reuse` those of earlier releases, `encode` residues, `write` proteins. */
export interface BuildProgress {
  readonly stage: 'read' | 'reuse' | 'encode' | 'write';
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
  /** By this run: without those of an interrupted run before, and without those that earlier releases had. */
  readonly encodedResidues: number;
  readonly reusedResidues: number;
  readonly encodeMs: number;
}
