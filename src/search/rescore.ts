import { assert } from '../errors.js';
import type {
  AffineAlignment,
  AffineAlignmentList,
  AffineParameters,
  KernelOptions,
} from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { affineParameters, diagonalSelfScore, pathParameters } from './pairs/affine.js';
import type {
  Candidate,
  Compared,
  EncodedQuery,
  Ranked,
  Rescored,
  Scored,
  SearchEngine,
} from './search-types.js';

/**
 * Adds the affine score of the query with every ranked target.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function rescore(
  query: EncodedQuery,
  ranked: readonly Ranked[],
  engine: SearchEngine,
  options: KernelOptions,
): Promise<Rescored> {
  const { backend, store, release } = engine;
  const targets = Uint32Array.from(ranked, ({ targetIndex }) => targetIndex);
  const parameters = affineParameters(release, query, targets);
  const { scores, retry } = await backend.affineScores(store, query.tokens, targets, parameters, options);
  return { candidates: withScores(ranked, scores, query, engine), retry };
}

/**
 * Alignment path of the query with each candidate. Its score is not that of the candidate: paths have parameters of
 * their own (release/path-affine.ts).
 * Errors  Fault of the kernels; the signal's reason
 */
export const findPaths = createPathSearch(pathParameters);

/**
 * Alignment path of the query with each candidate by the parameters of scores. Neighbours have these: rows of releases
 * that were built before stay equal to new ones.
 * Errors  Fault of the kernels; the signal's reason
 */
export const findScoredPaths = createPathSearch(affineParameters);

/** Creates a function that aligns the query with each candidate by these parameters. */
function createPathSearch(
  parametersOf: (release: Release, query: EncodedQuery, targets: Uint32Array) => AffineParameters,
) {
  return async (
    query: EncodedQuery,
    candidates: readonly Pick<Candidate, 'targetIndex'>[],
    { backend, store, release }: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
    options: KernelOptions,
  ): Promise<readonly AffineAlignment[]> => {
    const targets = Uint32Array.from(candidates, ({ targetIndex }) => targetIndex);
    const parameters = parametersOf(release, query, targets);
    return backend.affineAlign(store, query.tokens, targets, parameters, options);
  };
}

/**
 * Alignment paths of the query with each candidate, by the parameters of scores: the best, and the further ones with at
 * least the candidate's score.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function findAllPaths(
  query: EncodedQuery,
  candidates: readonly { readonly targetIndex: number; readonly leastScore: number }[],
  maxCount: number,
  { backend, store, release }: Pick<SearchEngine, 'backend' | 'store' | 'release'>,
  options: KernelOptions,
): Promise<readonly AffineAlignmentList[]> {
  const targets = Uint32Array.from(candidates, ({ targetIndex }) => targetIndex);
  const leastScores = Int32Array.from(candidates, ({ leastScore }) => leastScore);
  const parameters = affineParameters(release, query, targets);
  return backend.affineAlignAll(store, query.tokens, targets, parameters, { leastScores, maxCount }, options);
}

/** Adds the affine scores that were computed with the sums. */
export function withComparedScores(
  ranked: readonly Ranked[],
  { targets, affineScores }: Pick<Compared, 'targets' | 'affineScores'>,
  query: EncodedQuery,
  engine: SearchEngine,
): readonly Scored[] {
  assert(targets !== undefined && affineScores !== undefined, 'a prefilter policy scores what it compares');
  const scoreOf = new Map(Array.from(targets, (target, at) => [target, affineScores[at]]));
  const scores = Int32Array.from(ranked, ({ targetIndex }) => scoreOf.get(targetIndex)!);
  return withScores(ranked, scores, query, engine);
}

/** Unit  a normalised score is a share of the smaller of both proteins' self-scores */
function withScores(
  ranked: readonly Ranked[],
  scores: Int32Array,
  { tokens, sequence }: EncodedQuery,
  { release }: SearchEngine,
): readonly Scored[] {
  const querySelfScore = diagonalSelfScore(
    tokens,
    sequence,
    release.manifest.encoder.dimension,
    release.affine,
  );
  return ranked.map((candidate, order) => {
    const rawScore = scores[order];
    const selfScore = Math.min(querySelfScore, release.targets.selfScore(candidate.targetIndex));
    // A protein with self-score 0 has no scale for normalisation.
    const normalizedScore = selfScore === 0 ? 0 : rawScore / selfScore;
    return { ...candidate, affine: { rawScore, normalizedScore } };
  });
}
