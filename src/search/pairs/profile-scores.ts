import type { KernelBackend, KernelOptions, QueryTokens, TokenStore } from '../../kernels/kernels.js';

/**
 * Scores of the query's profile with those of listed targets; zeros for a query without a profile.
 * Shape   one score per listed target, in list order
 * Unit    16ths of a bit, as of `KernelBackend.profileScores`
 * Range   0 and more
 * Errors  Fault of the kernels; the signal's reason
 */
export async function profileScores(
  store: TokenStore,
  tokens: QueryTokens,
  targets: Uint32Array,
  backend: Pick<KernelBackend, 'profileScores'>,
  options: KernelOptions,
): Promise<Int32Array> {
  if (tokens.profile === undefined) return new Int32Array(targets.length);
  return backend.profileScores(store, tokens, targets, options);
}
