import { assert } from '../errors.js';
import { RETAINED_MAX_CANDIDATES } from '../limits.js';
import type { KernelOptions, KernelRetry, QueryTokens } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { describeAlignment } from './align.js';
import { compare, type Compared } from './compare.js';
import { maxsimDistances } from './maxsim.js';
import { resolvePolicy } from './policy.js';
import { rank, type Ranked } from './rank.js';
import { resultSha256, tokensSha256 } from './receipt.js';
import { rescore, type Rescored } from './rescore.js';
import type {
  Candidate,
  ProteinQuery,
  ResolvedPolicy,
  SearchEngine,
  SearchRequest,
  SearchResult,
} from './search-types.js';
import { diagonalSelfScore } from './self-score.js';
import { createJudge, type Judge } from './significance.js';

/** What all queries of one call share. */
export type SearchSettings = Omit<SearchRequest, 'query'>;

/**
 * Searches one release with one query: the straight line of the appliance.
 * Errors  Refusal `significance_unavailable` before any work; Fault of encoder or kernels; the signal's reason
 */
export async function search(
  request: SearchRequest,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<SearchResult> {
  const [result] = await searchMany([request.query], request, engine, signal);
  return result;
}

/**
 * The same for many queries at once: each gets the very result that it would get alone, but the release's tokens are
 * read once for all of them.
 */
export async function searchMany(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  assert(settings.limit >= 1 && settings.limit <= RETAINED_MAX_CANDIDATES, 'the contract bounds the limit');
  assert(settings.targetSpace.releaseId === engine.release.id, 'a target space belongs to one release');
  const startedAt = performance.now();
  const policy = resolvePolicy(engine.release.manifest, settings.guarantee);
  const lengths = queries.map((query) => query.sequence.length);
  const judge = createJudge(settings.significance, lengths, settings.targetSpace, engine);
  let kernelRetry: KernelRetry | undefined;
  const onRetry = (retry: KernelRetry): void => void (kernelRetry = retry);
  const options = { signal, threads: engine.threads, isBackground: engine.isBackground, onRetry };

  const tokens = await engine.encoder.encode(
    queries.map((query) => query.sequence),
    { signal },
  );
  const encodedAt = performance.now();
  const compared = await compare(tokens, settings, engine, options);

  const results: SearchResult[] = [];
  for (const [index, query] of queries.entries()) {
    const encoded = { query, tokens: tokens[index], ...compared[index] };
    const { candidates, ...found } = await describe(encoded, settings, policy, judge, engine, options);
    const finishedAt = performance.now();
    const timings = {
      encodeMs: encodedAt - startedAt,
      kernelMs: finishedAt - encodedAt,
      totalMs: finishedAt - startedAt,
    };
    results.push({ ...found, candidates, policy, timings, kernelRetry });
  }
  return results;
}

interface EncodedQuery extends Compared {
  readonly query: ProteinQuery;
  readonly tokens: QueryTokens;
}

/** Ranks one query's sums, aligns what is returned and seals the result. */
async function describe(
  encoded: EncodedQuery,
  settings: SearchSettings,
  policy: ResolvedPolicy,
  judge: Judge,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<Omit<SearchResult, 'policy' | 'timings'>> {
  const { targetSpace, limit, evidence } = settings;
  const { release } = engine;
  const { dimension } = engine.encoder.card;
  const ranked = rank(encoded.sums, encoded.targets, release.targets, encoded.tokens.length, limit);
  const { tokens, query } = encoded;
  const rescored = await rescore({ tokens, ...query }, ranked, evidence, engine, options);
  const querySelfScore = diagonalSelfScore(tokens, query.sequence, dimension, release.affine);
  const measured = ranked.map((entry, order) =>
    measureCandidate(entry, order, encoded, rescored, querySelfScore, release),
  );
  const significance = judge(encoded.tokens, measured, encoded.panel);
  const candidates = measured.map((candidate, order) => ({
    ...candidate,
    significance: significance[order],
  }));
  const queryTokensSha256 = tokensSha256(encoded.tokens, dimension);
  return {
    candidates,
    isResultLimitReached: targetSpace.searchedTargetCount > limit,
    queryLength: encoded.tokens.length,
    queryTokensSha256,
    querySelfScore,
    resultSha256: resultSha256(
      { release, targetSpace, policy, queryTokensSha256, calibrationId: engine.calibration?.id },
      candidates,
    ),
  };
}

function measureCandidate(
  { position, targetIndex }: Ranked,
  order: number,
  { query, tokens, sums }: EncodedQuery,
  rescored: Rescored,
  querySelfScore: number,
  release: Release,
): Omit<Candidate, 'significance'> {
  const { targets, manifest } = release;
  const found = { queryToTarget: sums.queryToTarget[position], targetToQuery: sums.targetToQuery[position] };
  const selfScore = Math.min(querySelfScore, targets.selfScore(targetIndex));
  const rawScore = rescored.scores[order];
  const alignment = rescored.alignments?.[order];
  return {
    rank: order + 1,
    targetIndex,
    queryToTargetSum: found.queryToTarget,
    targetToQuerySum: found.targetToQuery,
    maxsim: maxsimDistances(found, tokens.length, targets.length(targetIndex), manifest.encoder.inverse_step),
    // A protein whose tokens do not even match themselves has no scale to be measured on.
    affine: { rawScore, normalizedScore: selfScore === 0 ? 0 : rawScore / selfScore },
    ...(alignment && {
      alignment: describeAlignment(alignment, query.sequence, targets.sequence(targetIndex)),
    }),
  };
}
