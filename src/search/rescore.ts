import type { AffineAlignment, KernelOptions } from '../kernels/kernels.js';
import { affineParameters } from './affine.js';
import type { Ranked } from './rank.js';
import type { Candidate, EncodedQuery, EvidenceRequest, SearchEngine } from './search-types.js';
import { diagonalSelfScore } from './self-score.js';

/** One query's candidates with their affine scores, by rank. */
export interface Rescored {
  readonly candidates: readonly (Ranked & Pick<Candidate, 'affine'>)[];
  /** How each score comes about; absent where no alignment was asked for. */
  readonly paths?: readonly AffineAlignment[];
}

/**
 * Affine local alignment of the query with every ranked target: the score always, the path where it is asked for.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function rescore(
  query: EncodedQuery,
  ranked: readonly Ranked[],
  evidence: EvidenceRequest,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<Rescored> {
  const targets = Uint32Array.from(ranked, ({ targetIndex }) => targetIndex);
  const { backend, store, release } = engine;
  const parameters = affineParameters(release, query, targets);
  if (evidence === 'candidate_measurement') {
    const scores = await backend.affineScores(store, query.tokens, targets, parameters, options);
    return { candidates: withScores(ranked, scores, query, engine) };
  }
  const paths = await backend.affineAlign(store, query.tokens, targets, parameters, options);
  const scores = Int32Array.from(paths, ({ score }) => score);
  return { candidates: withScores(ranked, scores, query, engine), paths };
}

/** Unit  a normalised score is a share of what the smaller of both proteins scores with itself */
function withScores(
  ranked: readonly Ranked[],
  scores: Int32Array,
  { tokens, sequence }: EncodedQuery,
  { release }: SearchEngine,
): Rescored['candidates'] {
  const querySelfScore = diagonalSelfScore(
    tokens,
    sequence,
    release.manifest.encoder.dimension,
    release.affine,
  );
  return ranked.map((candidate, order) => {
    const rawScore = scores[order];
    const selfScore = Math.min(querySelfScore, release.targets.selfScore(candidate.targetIndex));
    // A protein whose tokens do not even match themselves has no scale to be measured on.
    const normalizedScore = selfScore === 0 ? 0 : rawScore / selfScore;
    return { ...candidate, affine: { rawScore, normalizedScore } };
  });
}
