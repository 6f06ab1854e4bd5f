import type { QueryTokens } from '../kernels/kernels.js';
import type { ListHomologs } from './finder.js';
import type { ProfileTokenForm } from './tokens.js';

/** A query's tokens as its family has them, and how many relatives count in them. */
export interface EncodedProfile {
  readonly tokens: QueryTokens;
  readonly homologs: number;
}

/** What gives the queries of a release their relatives, as its targets were given theirs. */
export interface ProfileEncoder {
  readonly form: ProfileTokenForm;
  /**
   * Tokens of each query, in order; equal queries have equal tokens.
   * Errors  Refusal `relatives_unavailable` where what they are looked for in is no longer there; the finder's
   */
  encode(
    sequences: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly EncodedProfile[]>;
  /** The finder's. Errors  as encode */
  readonly list?: ListHomologs;
}
