import type { HomologFinder } from '../homologs/finder.js';
import type { HomologRules } from '../homologs/rules.js';
import type { ProfileTokenForm } from '../homologs/tokens.js';
import type { FoundRelease } from '../release/catalog.js';
import type { HomologSource } from '../release/release.js';
import type { Encoder } from '../encoder/encoder.js';
import type { GivenEmbeddings } from './embeddings/embeddings.js';
import type { Corpus } from './read-proteins.js';
import type { ProteinInput } from './sources/protein-source.js';

/** Finder, rules and token form of a build with homologs. */
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
  /** Whether the release becomes the default of its database. Default true. */
  readonly isDefault?: boolean;
  readonly input: ProteinInput;
  readonly encoder: Encoder;
  /** Encodes proteins with their homologs; undefined for tokens of the encoder alone. */
  readonly buildHomologs?: BuildHomologs;
  /** Precomputed features of the same model. Excludes `buildHomologs`, because homologs have no such features. */
  readonly embeddings?: GivenEmbeddings;
  /** Number of shards of a distributed encoding (`planShards`); undefined if this process encodes. */
  readonly shardCount?: number;
  /** Called when the input has been read, before any protein is encoded. A Refusal that it throws ends the build. */
  readonly checkCorpus?: (corpus: Pick<Corpus, 'targets'>) => void;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BuildProgress) => void;
}

/** Units: `read` bytes of the input, `reuse` bytes of earlier releases, `encode` residues, `write` proteins. */
export interface BuildProgress {
  readonly stage: 'read' | 'reuse' | 'encode' | 'write';
  readonly done: number;
  readonly total: number;
}

export interface BuildReport {
  readonly release: FoundRelease;
  /** True if an identical release existed already, so that nothing was encoded. */
  readonly isKnown: boolean;
  /** Number of replaced residues for each letter of the input. */
  readonly replaced: Readonly<Record<string, number>>;
  readonly notes: readonly string[];
  readonly sizeBytes: number;
  /** Residues that this run encoded; excludes those of an interrupted run and those of earlier releases. */
  readonly encodedResidues: number;
  readonly reusedResidues: number;
  readonly encodeMs: number;
}
