import { reversed } from '../calibration/control.js';
import type { KernelOptions } from '../kernels/kernels.js';
import { affineParameters } from './affine.js';
import type { SearchEngine } from './search-types.js';

/**
 * Affine scores of the query read backwards with listed targets: the controls of pairs that strike
 * (calibration/control.ts).
 * Errors  Fault of encoder or kernels; the signal's reason
 * Cost    one more encoding, and an alignment for each target
 */
export async function controlScores(
  query: string,
  targets: Uint32Array,
  { encoder, backend, store, release }: Pick<SearchEngine, 'encoder' | 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<Int32Array> {
  const sequence = reversed(query);
  const [tokens] = await encoder.encode([sequence], { signal: options.signal });
  return backend.affineScores(store, tokens, targets, affineParameters(release, sequence, targets), options);
}
