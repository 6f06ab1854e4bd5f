import type { QueryTokens, TokenSource } from './kernels.js';

/** Returns the tokens of residues `start` up to `end` of a protein, as they are in the whole protein. */
export function tokensOfStretch(
  { values, profile, length, ...others }: QueryTokens,
  start: number,
  end: number,
): QueryTokens {
  const rows = (all: Int8Array): Int8Array => {
    const width = all.length / length;
    return all.subarray(start * width, end * width);
  };
  return { ...others, values: rows(values), ...(profile && { profile: rows(profile) }), length: end - start };
}

/** Returns the tokens of one protein as the source of a store. */
export function sourceOf({ values, profile, length }: QueryTokens): TokenSource {
  return {
    dimension: values.length / length,
    residueStarts: Uint32Array.of(0, length),
    tokens: { values },
    ...(profile && { profiles: { values: profile } }),
  };
}
