import { reversed } from '../significance/control.js';
import { PROFILE_WIDTH, type KernelOptions, type QueryTokens } from '../kernels/kernels.js';
import { affineParameters, type AlignedProtein } from './affine.js';
import type { SearchEngine } from './search-types.js';

/**
 * Affine scores of the query read backwards with listed targets: the controls of pairs that strike
 * (significance/control.ts). What is known of the relatives of its residues is read backwards with them.
 * Errors  Fault of encoder or kernels; the signal's reason
 * Cost    an alignment for each target, and one more encoding of a query without relatives
 */
export async function controlScores(
  { sequence, tokens }: AlignedProtein,
  targets: Uint32Array,
  { encoder, backend, store, release }: Pick<SearchEngine, 'encoder' | 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<Int32Array> {
  const backwards = reversed(sequence);
  const [encoded] =
    tokens.profile === undefined
      ? await encoder.encode([backwards], { signal: options.signal })
      : [reversedTokens(tokens, release.manifest.encoder.dimension)];
  const parameters = affineParameters(release, { sequence: backwards, tokens: encoded }, targets);
  return backend.affineScores(store, encoded, targets, parameters, options);
}

function reversedTokens(tokens: QueryTokens, dimension: number): QueryTokens {
  const { values, profile } = tokens;
  return {
    ...tokens,
    values: reversedRows(values, dimension),
    profile: profile && reversedRows(profile, PROFILE_WIDTH),
  };
}

function reversedRows(rows: Int8Array, width: number): Int8Array {
  const backwards = new Int8Array(rows.length);
  for (let start = 0; start < rows.length; start += width) {
    backwards.set(rows.subarray(start, start + width), rows.length - start - width);
  }
  return backwards;
}
