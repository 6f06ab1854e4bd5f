import type { AffineAlignment, KernelOptions, QueryTokens } from '../kernels/kernels.js';
import { affineParameters } from './affine.js';
import type { Ranked } from './rank.js';
import type { EvidenceRequest, SearchEngine } from './search-types.js';

/** The affine part of one query's candidates, by rank order. */
export type Rescored =
  | { readonly scores: Int32Array; readonly alignments?: undefined }
  | { readonly scores: Int32Array; readonly alignments: readonly AffineAlignment[] };

/** Affine local alignment of the query with every ranked target: the score always, the path where it is asked for. */
export async function rescore(
  { tokens, sequence }: { readonly tokens: QueryTokens; readonly sequence: string },
  ranked: readonly Ranked[],
  evidence: EvidenceRequest,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<Rescored> {
  const targets = Uint32Array.from(ranked, (entry) => entry.targetIndex);
  const { backend, store, release } = engine;
  const parameters = affineParameters(release, sequence, targets);
  if (evidence === 'candidate_measurement') {
    return { scores: await backend.affineScores(store, tokens, targets, parameters, options) };
  }
  const alignments = await backend.affineAlign(store, tokens, targets, parameters, options);
  return { scores: Int32Array.from(alignments, (alignment) => alignment.score), alignments };
}
