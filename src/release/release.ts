import type { AffineParameters, TokenSource } from '../kernels/kernels.js';

export type AttributeValue = string | number | boolean | readonly string[];
export type AttributeType = 'string' | 'integer' | 'number' | 'boolean' | 'string_list';

/** One field that a filter may name. */
export interface FilterField {
  readonly name: string;
  readonly type: AttributeType;
  /** True for the taxid field of a release that was built with a taxonomy: `descends_from` works on it. */
  readonly isTaxonomy?: boolean;
  /** Of the taxonomy's field in an open release: taxa of a scientific name, whatever its case; none to all. */
  readonly taxaNamed?: (name: string) => readonly number[];
}

export interface FileEntry {
  /** Relative to the release's directory; a plain file name. */
  readonly path: string;
  readonly size_bytes: number;
  readonly sha256: string;
}

/** A file of int8 rows, one for each residue; the values are one range of it. */
export interface RowsEntry extends FileEntry {
  readonly values_byte_offset: number;
  readonly values_byte_length: number;
}

/** Affine parameters for two proteins with profiles, complete. */
export interface ProfileAffineManifest {
  /** A profile's value is round(scale × frequency ÷ √background), at most 127. */
  readonly scale: number;
  /** Score of a doubled Σ q p ÷ background, in 64ths. */
  readonly weight: number;
  readonly multiplier: number;
  readonly offset: number;
  readonly gap_open: number;
  readonly gap_extend: number;
  /** Weight of the letters' BLOSUM62 score beside the profiles; absent for none. */
  readonly blosum62?: number;
}

/** How the targets of a release were given their relatives; its queries are given theirs in the same way. */
export interface HomologsManifest {
  /** HOMOLOG_FORM_ID of the version that built it; the first had none. */
  readonly form_id?: string;
  readonly background: HomologSource;
  readonly rules: {
    readonly max_expected: number;
    readonly min_coverage: number;
    readonly max_identity: number;
    readonly profile_count: number;
    readonly vector_count: number;
    /** `cut` where alignments lost their weak ends (homologs/weak-ends.ts); absent from earlier versions. */
    readonly weak_ends?: 'cut';
    /** Largest E-value by the compositions (homologs/composition.ts); absent from earlier versions. */
    readonly max_composed_expected?: number;
  };
  /** Components of the encoder's vectors, and the share of a token's squared length that its profile has. */
  readonly encoder_dimension: number;
  readonly profile_share: number;
  /** Number of targets with homologs, and number of homologs in all homolog sets. */
  readonly counts: { readonly targets: number; readonly relatives: number };
}

/** Source of the homologs. */
export type HomologSource =
  | {
      /** Our own search of a release, with the E-values of a calibration of it. */
      readonly method: 'search';
      readonly release_id: string;
      readonly calibration_id: string;
      /** Card of its approximate policy, by which it was searched; absent where that was exhaustive. */
      readonly qualification_id?: string;
    }
  | {
      /** mmseqs over sequences that the appliance keeps under this name. */
      readonly method: 'mmseqs';
      readonly name: string;
      readonly sha256: string;
      readonly version: string;
      readonly rounds: number;
    }
  | {
      /** Alignments that were given by id; queries have none. */
      readonly method: 'alignments';
      readonly sha256: string;
    }
  | {
      /** Members of the families whose consensus sequences the targets are; queries have none. */
      readonly method: 'families';
      /** Digest of the input. */
      readonly sha256: string;
    };

/** Whether queries get homologs from a source, as targets do. */
export function servesQueries({ method }: HomologSource): boolean {
  return method !== 'alignments' && method !== 'families';
}

/**
 * What a release is: the canonical SHA-256 of this value is its id (`dbr_…`), so nothing in it may depend on when,
 * where or in how many sittings it was built. On disk: `manifest.json`, wire names.
 */
export interface ReleaseManifest {
  readonly format: 'gloaming-release/1';
  readonly title: string;
  readonly description: string;
  /** True where the proteins were simulated, not observed. */
  readonly is_simulated: boolean;
  /** `corpus_…`: digest of ids, normalised sequences and attributes in order; independent of the encoder. */
  readonly corpus_snapshot_id: string;
  readonly normalization_id: string;
  readonly encoder: {
    readonly id: string;
    /** Of the canonical card, which itself names the digests of model and projection. */
    readonly sha256: string;
    readonly dimension: number;
    /** 173 or more: an int8 component is round(x × inverse_step). */
    readonly inverse_step: number;
  };
  readonly affine: {
    readonly multiplier: number;
    readonly offset: number;
    readonly gap_open: number;
    readonly gap_extend: number;
    /** Weight of the letters' BLOSUM62 score, 1..11; absent for none. */
    readonly blosum62?: number;
    /** Parameters that replace these if query and target have profiles; absent in releases without profiles. */
    readonly profile?: ProfileAffineManifest;
  };
  readonly counts: { readonly targets: number; readonly residues: number };
  /** Absent where targets have no relatives. `encoder.dimension` is that of the tokens, with relatives or without. */
  readonly relatives?: HomologsManifest;
  /** Present where tokens of this many targets were made of embeddings that were given, not by running the encoder. */
  readonly embeddings?: { readonly sha256: string; readonly targets: number };
  readonly filter_schema: {
    readonly id: string;
    readonly fields: readonly {
      readonly name: string;
      readonly type: AttributeType;
      readonly is_taxonomy: boolean;
    }[];
  };
  /** Ways in which the guarantee may be met; today the exhaustive one only. */
  readonly policies: readonly { readonly id: string; readonly guarantee: 'exhaustive' | 'approximate' }[];
  readonly files: {
    readonly targets: FileEntry;
    readonly attributes: FileEntry;
    readonly tokens: RowsEntry;
    /** Absent where targets have no profiles. */
    readonly profiles?: RowsEntry;
    /** Present where the release was built with a taxonomy. */
    readonly taxonomy?: FileEntry;
    /** Names of the targets; absent in releases of older versions. */
    readonly names?: FileEntry;
  };
}

/** Size of a target's homolog set. */
export interface TargetHomologs {
  /** Homologs in the set. */
  readonly relatives: number;
  /** Effective number of sequences of the homologs and the target, 1..65. */
  readonly effectiveSequences: number;
}

/** Columns of one release, in memory, by target index. */
export interface TargetTable {
  readonly count: number;
  id(targetIndex: number): string;
  /** The normalised sequence, as encoded and as returned in answers. */
  sequence(targetIndex: number): string;
  length(targetIndex: number): number;
  /** Affine score of the target's tokens with themselves along the diagonal: Σ max(0, s(t, t)). */
  selfScore(targetIndex: number): number;
  /** Where targets have relatives. */
  readonly targetHomologs?: (targetIndex: number) => TargetHomologs;
  /** Attributes that are present, by field name, in the order of the filter schema. */
  attributes(targetIndex: number): Readonly<Record<string, AttributeValue>>;
  /** One attribute; undefined where it is missing. */
  attribute(targetIndex: number, field: string): AttributeValue | undefined;
  /** The target with this id, if any. */
  find(id: string): number | undefined;
}

/** Release-owned parameters of affine alignment; `search/affine.ts` adds the letters of a query and its targets. */
export interface ReleaseAffine extends PairAffine {
  /** For a query with a profile, of a release with profiles. */
  readonly withProfiles?: PairAffine;
}

export interface PairAffine extends Omit<AffineParameters, 'letters'> {
  /** [32 × 32], kernels.ts; absent where letters score nothing. */
  readonly letterScores?: Int8Array;
}

/** A release opened for searching: immutable, shared by all searches. */
export interface Release {
  readonly id: string;
  readonly directory: string;
  readonly manifest: ReleaseManifest;
  readonly affine: ReleaseAffine;
  /** Of the alignments that are shown (path-affine.ts). */
  readonly pathAffine: ReleaseAffine;
  readonly fields: readonly FilterField[];
  readonly targets: TargetTable;
  readonly tokens: TokenSource;
  /** Taxids on the path from this taxid to the root, itself first; empty where unknown or without a taxonomy. */
  lineage(taxid: number): readonly number[];
  /** Scientific name of a taxon on the lineage of a target. */
  taxonName(taxid: number): string | undefined;
}

/** The eligible targets of a release under one canonical filter. */
export interface TargetSpace {
  /** `htsp_…`; absent for the unfiltered release. */
  readonly id?: string;
  readonly canonicalFilter?: unknown;
  readonly canonicalFilterSha256?: string;
  readonly releaseId: string;
  /** Ascending target indices; absent = all. */
  readonly eligible?: Uint32Array;
  readonly searchedTargetCount: number;
  readonly searchedResidueCount: number;
}
