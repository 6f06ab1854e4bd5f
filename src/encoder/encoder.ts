import type { QueryTokens } from '../kernels/kernels.js';

/**
 * `card.json` of an encoder, wire names as on disk. The canonical SHA-256 of the card is the encoder's digest;
 * the card names the digests of the files it needs, so one digest pins everything.
 */
export interface EncoderCard {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly license: string;
  readonly attribution?: readonly string[];
  /** True for the untrained fixed window: fine as a placeholder, no more. */
  readonly is_baseline: boolean;
  readonly model: {
    readonly file: string;
    readonly sha256: string;
    /** Weights that the model keeps in a file of their own, as ONNX does above 2 GiB. */
    readonly data?: { readonly file: string; readonly sha256: string };
  };
  /** Names of the int64 [batch, length] inputs; `mask` is null where the model takes none. */
  readonly inputs: { readonly ids: string; readonly mask: string | null };
  /** Name of the float32 [batch, length, features] output. */
  readonly output: string;
  readonly tokenizer: {
    /** Token id of each residue letter. */
    readonly vocabulary: Readonly<Record<string, number>>;
    /** Id of any letter that the vocabulary lacks. */
    readonly unknown: number;
    readonly padding: number;
    /** Special tokens before and after the residues; their vectors are cut off. */
    readonly prefix: readonly number[];
    readonly suffix: readonly number[];
  };
  /** Longest stretch that the model sees at once, and how far neighbouring windows overlap; null = any length. */
  readonly window: { readonly residues: number; readonly overlap: number } | null;
  /** Float32 little-endian [input × output] matrix, applied before normalisation; null where the model needs none. */
  readonly projection: {
    readonly file: string;
    readonly sha256: string;
    readonly input_dimension: number;
    readonly output_dimension: number;
  } | null;
  /** Components of a residue vector; a multiple of 32 up to 256. */
  readonly dimension: number;
  /** An int8 component is round(x × inverse_step); 173 keeps every squared norm at or under 32,767. */
  readonly inverse_step: number;
  /** Affine parameters that suit this encoder's dot products; a release takes them over at build time. */
  readonly affine: {
    readonly multiplier: number;
    readonly offset: number;
    readonly gap_open: number;
    readonly gap_extend: number;
    /** Weight of the letters' BLOSUM62 score, 1..11; absent for none. */
    readonly blosum62?: number;
  };
  readonly figures?: unknown;
}

export interface EncodeOptions {
  readonly signal?: AbortSignal;
}

/** How the int8 tokens of two encoders differ over some proteins. */
export interface TokenComparison {
  readonly proteinCount: number;
  readonly residueCount: number;
  /** Proteins, and residues, of which any component differs. */
  readonly differingProteinCount: number;
  readonly differingResidueCount: number;
  /** Between two components; 1 where only their rounding differs. */
  readonly largestDifference: number;
}

/** A loaded encoder: normalised sequences in, int8 residue tokens out. Its work runs off the event loop. */
export interface Encoder {
  readonly card: EncoderCard;
  /** Canonical SHA-256 of the card. */
  readonly digest: string;
  /** Where the model runs: `cpu`, `cuda`. */
  readonly device: string;
  /** Present where its tokens were found to differ from those that the CPU gives, and that was accepted. */
  readonly differenceFromCpu?: TokenComparison;
  /**
   * Tokens of each sequence, in order.
   * Errors  Fault when the model cannot run; rejects with the signal's reason when cancelled
   */
  encode(sequences: readonly string[], options?: EncodeOptions): Promise<readonly QueryTokens[]>;
  close(): Promise<void>;
}
