import { assert } from '../errors.js';
import type { AffineAlignment, KernelOptions, KernelRetry } from '../kernels/kernels.js';
import { affineParameters } from './affine.js';
import type { Ranked } from './rank.js';
import type { Candidate, Compared, EncodedQuery, EvidenceRequest, SearchEngine } from './search-types.js';
import { diagonalSelfScore } from './self-score.js';

/** A candidate before it is judged and aligned. */
export type Scored = Ranked & Pick<Candidate, 'affine'>;

/** One query's candidates with their affine scores, by rank. */
interface Rescored {
  readonly candidates: readonly Scored[];
  /** How each score comes about; absent where no alignment was asked for. */
  readonly paths?: readonly AffineAlignment[];
  /** Present where a device failed at the scores. */
  readonly retry?: KernelRetry;
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
  if (evidence === 'candidate_measurement') {
    const { backend, store, release } = engine;
    const targets = Uint32Array.from(ranked, ({ targetIndex }) => targetIndex);
    const parameters = affineParameters(release, query, targets);
    let retry: KernelRetry | undefined;
    const onRetry = (made: KernelRetry): void => void (retry = made);
    const heard = { ...options, onRetry };
    const scores = await backend.affineScores(store, query.tokens, targets, parameters, heard);
    return { candidates: withScores(ranked, scores, query, engine), retry };
  }
  const paths = await findPaths(query, ranked, engine, options);
  const scores = Int32Array.from(paths, ({ score }) => score);
  return { candidates: withScores(ranked, scores, query, engine), paths };
}

/** How the affine score of the query with each candidate comes about. */
export async function findPaths(
  query: EncodedQuery,
  candidates: readonly Pick<Candidate, 'targetIndex'>[],
  { backend, store, release }: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<readonly AffineAlignment[]> {
  const targets = Uint32Array.from(candidates, ({ targetIndex }) => targetIndex);
  return backend.affineAlign(
    store,
    query.tokens,
    targets,
    affineParameters(release, query, targets),
    options,
  );
}

/** Ranked finalists with the affine scores that they were compared with. */
export function withFoundScores(
  ranked: readonly Ranked[],
  { targets, affineScores }: Pick<Compared, 'targets' | 'affineScores'>,
  query: EncodedQuery,
  engine: SearchEngine,
): readonly Scored[] {
  assert(targets !== undefined && affineScores !== undefined, 'finalists are scored as they are compared');
  const scoreOf = new Map(Array.from(targets, (target, at) => [target, affineScores[at]]));
  const scores = Int32Array.from(ranked, ({ targetIndex }) => scoreOf.get(targetIndex)!);
  return withScores(ranked, scores, query, engine);
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
