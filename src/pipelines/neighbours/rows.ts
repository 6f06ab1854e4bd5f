import { emptyEdges, type EdgeColumns } from '../../neighbours/graph.js';
import { unfilteredSpace } from '../../release/filter/target-space.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { TokenReader } from '../../release/rows/token-reader.js';
import { batchEnd, largestBatchSize } from '../../search/batches.js';
import { resolvePolicy } from '../../search/plan.js';
import { findScoredPaths } from '../../search/rescore.js';
import { chooseMany } from '../../search/search.js';
import type {
  Candidate,
  EncodedQuery,
  ResolvedPolicy,
  SearchEngine,
  SearchSettings,
} from '../../search/search-types.js';
import type { EarlierRows, KeptNeighbours } from './earlier.js';
import { judgeListed } from './judge-listed.js';

/** Which other targets are neighbours of a target. */
export interface NeighbourRules {
  /** Most neighbours of one target. */
  readonly limit: number;
  /** Largest E-value of a neighbour. */
  readonly maxExpected: number;
}

/**
 * Nearest targets by MaxSim that the exhaustive policy scores for each query, so that a distant protein with one shared
 * domain is found, too. A release with at most so many targets is measured by `judgeListed` as a whole. Sums and scores
 * then come from the same dot products: 65 ms of processor time instead of 114 for a protein of the demo.
 */
const EXHAUSTIVE_SCORED_MAX_COUNT = 2_500;

/** Open values that all rows share. */
export interface RowWork {
  readonly engine: SearchEngine;
  readonly reader: TokenReader;
  readonly rules: NeighbourRules;
  /** Rows of an earlier release that are kept as candidates. */
  readonly earlier?: EarlierRows;
  readonly signal?: AbortSignal;
}

/** Edges of some queries. Shape  queries [edges], ascending */
export interface NeighbourRows {
  readonly queries: Uint32Array;
  readonly edges: EdgeColumns;
}

/** The policy that lists the neighbours of each target: the qualified approximate one, or the exhaustive one. */
function neighbourPolicy(
  engine: Pick<SearchEngine, 'release' | 'qualification' | 'codebook'>,
  { limit }: Pick<NeighbourRules, 'limit'>,
): ResolvedPolicy {
  // The list of a query has the query itself.
  return resolvePolicy(engine, { guarantee: 'approximate', limit: limit + 1 });
}

/**
 * Computes the rows of consecutive targets. The queries are the stored tokens and profiles of the release.
 * Errors  Fault of encoder, kernels or token file; the signal's reason
 */
export async function computeRows(start: number, end: number, work: RowWork): Promise<NeighbourRows> {
  const targets = Array.from({ length: end - start }, (_, at) => start + at);
  const lists = new Map<number, readonly Candidate[]>();
  const { earlier, engine, signal } = work;
  const options = { signal, threads: engine.threads };
  if (earlier !== undefined) {
    const kept = targets.filter((target) => earlier.keptOf(target) !== undefined);
    await listAll(kept, earlier.added, work, async (target, query, added) => {
      const judged = await judgeKept(query, earlier.keptOf(target)!, added, work);
      if (judged !== undefined) lists.set(target, judged);
    });
  }
  const others = targets.filter((target) => !lists.has(target));
  await listAll(others, unfilteredSpace(engine.release), work, async (target, query, listed, judged) => {
    lists.set(target, judged ?? (await judgeListed(query, listed, engine, options)));
  });
  return alignRows(targets, lists, work);
}

/** @param judged  candidates of the listed targets; absent if every target of the space is listed */
type TakeList = (
  target: number,
  query: EncodedQuery,
  listed: Uint32Array,
  judged?: readonly Candidate[],
) => Promise<void>;

/** Lists the candidates of each target in a target space. */
async function listAll(
  targets: readonly number[],
  targetSpace: TargetSpace,
  { engine, reader, rules, signal }: RowWork,
  take: TakeList,
): Promise<void> {
  const { release } = engine;
  const { isExhaustive } = neighbourPolicy(engine, rules);
  const { searchedTargetCount } = targetSpace;
  if (isExhaustive && searchedTargetCount <= EXHAUSTIVE_SCORED_MAX_COUNT) {
    const all = targetSpace.eligible ?? Uint32Array.from({ length: searchedTargetCount }, (_, at) => at);
    for (const target of targets) {
      signal?.throwIfAborted();
      await take(target, await readQuery(target, release, reader), all);
    }
    return;
  }
  const settings = settingsOf(targetSpace, isExhaustive, rules);
  const size = largestBatchSize(settings);
  const lengthOf = (target: number): number => release.targets.length(target);
  for (let start = 0; start < targets.length;) {
    signal?.throwIfAborted();
    const end = batchEnd(targets, start, size, lengthOf);
    const batch = targets.slice(start, end);
    const queries = await Promise.all(batch.map((target) => readQuery(target, release, reader)));
    const candidates =
      searchedTargetCount === 0 ? batch.map(() => []) : await chooseMany(queries, settings, engine, signal);
    for (const [at, target] of batch.entries()) {
      const listed = Uint32Array.from(candidates[at], ({ targetIndex }) => targetIndex);
      await take(target, queries[at], listed, candidates[at]);
    }
    start = end;
  }
}

function settingsOf(targetSpace: TargetSpace, isExhaustive: boolean, rules: NeighbourRules): SearchSettings {
  return {
    targetSpace,
    limit: isExhaustive ? EXHAUSTIVE_SCORED_MAX_COUNT : rules.limit + 1,
    guarantee: isExhaustive ? 'exhaustive' : 'approximate',
    // Only the neighbours are aligned, which are a few of the candidates.
    evidence: 'candidate_measurement',
    significance: 'if_available',
  };
}

async function readQuery(
  target: number,
  { targets, manifest }: Release,
  reader: TokenReader,
): Promise<EncodedQuery> {
  return {
    sequence: targets.sequence(target),
    normalizationId: manifest.normalization_id,
    tokens: await reader.read(target),
  };
}

/** Largest difference of two log E-values that rounding can make. */
const ROUNDING = 1e-9;

/**
 * Judges the neighbours that a target had in the earlier release, and those among the added targets. The E-values of
 * all pairs of one query change by one factor. Returns undefined where it is below 1: pairs that were no neighbours may
 * have become some, and the row has to be computed in full.
 */
async function judgeKept(
  query: EncodedQuery,
  kept: KeptNeighbours,
  added: Uint32Array,
  { engine, signal }: RowWork,
): Promise<readonly Candidate[] | undefined> {
  const { threads } = engine;
  const listed = Uint32Array.from([...kept.targets, ...added]).sort();
  const judged = await judgeListed(query, listed, engine, { signal, threads });
  const before = new Map(kept.targets.map((target, at) => [target, kept.logEValues[at]]));
  const hasFallen = judged.some(({ targetIndex, significance }) => {
    const logEValue = before.get(targetIndex);
    if (logEValue === undefined) return false;
    return significance.kind !== 'supported' || significance.logEValue < logEValue - ROUNDING;
  });
  return hasFallen ? undefined : judged;
}

/** Chooses the neighbours of each target and aligns them. */
async function alignRows(
  targets: readonly number[],
  lists: ReadonlyMap<number, readonly Candidate[]>,
  { engine, reader, rules, signal }: RowWork,
): Promise<NeighbourRows> {
  const { threads, release } = engine;
  const chosen = targets.map((target) => chooseNeighbours(target, lists.get(target)!, rules));
  const count = chosen.reduce((sum, { length }) => sum + length, 0);
  const [queries, edges] = [new Uint32Array(count), emptyEdges(count)];
  let edge = 0;
  for (const [at, target] of targets.entries()) {
    if (chosen[at].length === 0) continue;
    signal?.throwIfAborted();
    const query = await readQuery(target, release, reader);
    const paths = await findScoredPaths(query, chosen[at], engine, { signal, threads });
    for (const [place, { targetIndex, affine, logEValue }] of chosen[at].entries()) {
      const { queryStart, queryEnd, targetStart, targetEnd } = paths[place];
      queries[edge] = target;
      edges.targets[edge] = targetIndex;
      edges.logEValues[edge] = logEValue;
      edges.affineScores[edge] = affine.rawScore;
      edges.queryStarts[edge] = queryStart;
      edges.queryEnds[edge] = queryEnd;
      edges.targetStarts[edge] = targetStart;
      edges.targetEnds[edge] = targetEnd;
      edge += 1;
    }
  }
  return { queries, edges };
}

/** Returns the other targets with the smallest E-values, smallest first; equal ones in the order of the release. */
function chooseNeighbours(target: number, candidates: readonly Candidate[], rules: NeighbourRules) {
  const largest = Math.log(rules.maxExpected);
  return candidates
    .flatMap(({ targetIndex, affine, significance }) => {
      const isNeighbour =
        significance.kind === 'supported' && significance.logEValue <= largest && affine.rawScore > 0;
      return isNeighbour && targetIndex !== target
        ? [{ targetIndex, affine, logEValue: significance.logEValue }]
        : [];
    })
    .sort((a, b) => a.logEValue - b.logEValue || a.targetIndex - b.targetIndex)
    .slice(0, rules.limit);
}
