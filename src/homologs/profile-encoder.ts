import type { QueryTokens } from '../kernels/kernels.js';
import type { FindOptions, ListHomologs } from './finder.js';
import type { ProfileTokenForm } from './tokens.js';

/** Profile tokens of a query, and the number of homologs in its profile. */
export interface EncodedProfile {
  readonly tokens: QueryTokens;
  readonly homologs: number;
}

/** Encodes queries of a release with homologs by the method that its targets were encoded by. */
export interface ProfileEncoder {
  readonly form: ProfileTokenForm;
  /**
   * Returns the profile tokens of each query, in order. Equal queries have equal tokens.
   * Errors  Refusal `relatives_unavailable` where the homolog source is missing or has changed; those of finder and
   *         encoder
   */
  encode(sequences: readonly string[], options?: FindOptions): Promise<readonly EncodedProfile[]>;
  /** The finder's list of all homologs of a query. Errors  as encode */
  readonly list?: ListHomologs;
}
