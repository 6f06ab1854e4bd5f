import * as fastq from 'fastq';
import { assert } from '../errors.js';
import { QUERIES_AT_WORK_MAX_COUNT, RETAINED_MAX_CANDIDATES } from '../limits.js';
import type { JudgeAlignment } from './pairs/candidate-significance.js';
import { align, inWhole } from './align.js';
import { controlsEachQuery } from './control.js';
import { encode, stretchesOf } from './encode.js';
import { nearestSums } from './exhaustive.js';
import { planSearch } from './plan.js';
import { sweptSums } from './prefiltered.js';
import { rank } from './rank.js';
import { seal } from './seal.js';
import type {
  Candidate,
  Compared,
  EncodedQuery,
  ProteinQuery,
  Rescored,
  Scan,
  ScanWork,
  SearchEngine,
  SearchPlan,
  SearchRequest,
  SearchResult,
  SearchSettings,
} from './search-types.js';
import {
  probabilitySourceOf,
  refuseUnsupportedCompositions,
  refuseVainDatabaseSize,
  refuseWithoutProbability,
} from './refusals.js';
import { createJudge, withoutJudgement, type Judge } from './significance.js';
import { alignFurther } from './further.js';

/*
 * The search pipeline. It takes proteins and one release. It returns, for each protein, the nearest
 * targets with their measurements, and the digest that names this result.
 *
 *   plan      requested guarantee → policy of the release, as a value (plan.ts)
 *   encode    residues → int8 tokens, with homologs where the release's targets have them
 *   compare   tokens → integer MaxSim sums with the eligible targets that the policy measures
 *   rank      sums → nearest targets and their distances
 *   rescore   targets → affine scores
 *   judge     measurements → E-values
 *   choose    judged candidates → the listed ones
 *   align     alignment paths → extended CIGAR and counts; further alignments if they are requested
 *   seal      candidates → a result under its digest
 *
 * The policies differ in `compare`, `rescore` and `choose` only (exhaustive.ts, prefiltered.ts, codebook.ts). Each
 * stage is a file of this folder. Each stage adds members to the candidates and removes none.
 */

/**
 * Searches one release with one query.
 * Errors  Refusal `significance_unavailable`, `query_range_invalid` before any work; Fault of encoder or kernels; the
 *         signal's reason
 * @param plan  of this engine and request, where the caller has planned the search already
 */
export async function search(
  request: SearchRequest,
  engine: SearchEngine,
  signal?: AbortSignal,
  plan?: SearchPlan,
): Promise<SearchResult> {
  const [result] = await searchMany([request.query], request, engine, signal, plan);
  return result;
}

/**
 * Searches one release with many queries. Each query gets exactly the result of a search with this query alone, but
 * the release's tokens are read once for all queries.
 * Errors  those of `search`
 * @param plan  of this engine and these settings, where the caller has planned the search already
 */
export async function searchMany(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
  plan: SearchPlan = planSearch(engine, settings),
): Promise<readonly SearchResult[]> {
  const { queryRange: range } = settings;
  const searched = stretchesOf(queries, range);
  const request = { ...settings, isControlled: controlsEachQuery(settings, engine.calibration) };
  const encoding = (): ReturnType<typeof encode> => encode(searched, request, engine, { signal });
  const results = await runStages(searched, encoding, alignAndSeal, { plan, settings, engine, signal });
  if (range === undefined) return results;
  return results.map((result, index) => inWhole(result, range.start, queries[index].sequence.length));
}

/**
 * Searches one release with queries whose tokens are known, such as means over homologs. Each query gets the result of
 * all stages after `encode`.
 * Errors  those of `search`
 */
export async function searchEncoded(
  queries: readonly EncodedQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  const plan = planSearch(engine, settings);
  return runStages(queries, () => Promise.resolve(queries), alignAndSeal, { plan, settings, engine, signal });
}

/**
 * Lists the candidates of queries whose tokens are known, such as those of the release's own targets. It runs the
 * stages from `compare` to `choose`; each query gets the candidates of `searchMany`, without alignments.
 * Errors  those of `search`
 */
export async function chooseMany(
  queries: readonly EncodedQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly (readonly Candidate[])[]> {
  const plan = planSearch(engine, settings);
  const last = (_: EncodedQuery, { chosen }: Chosen): Promise<readonly Candidate[]> =>
    Promise.resolve(chosen);
  return runStages(queries, () => Promise.resolve(queries), last, { plan, settings, engine, signal });
}

interface StagesInput {
  readonly plan: SearchPlan;
  readonly settings: SearchSettings;
  readonly engine: SearchEngine;
  readonly signal?: AbortSignal;
}

/** Runs the stages from `encode` to `choose` for all queries, and the last ones by a function of each query. */
async function runStages<Query extends ProteinQuery, Result>(
  queries: readonly Query[],
  encoding: () => Promise<readonly EncodedQuery[]>,
  last: (query: EncodedQuery, chosen: Chosen, work: Work) => Promise<Result>,
  { plan, settings, engine, signal }: StagesInput,
): Promise<readonly Result[]> {
  assert(settings.limit >= 1 && settings.limit <= RETAINED_MAX_CANDIDATES, 'the contract bounds the limit');
  assert(settings.targetSpace.releaseId === engine.release.id, 'a target space belongs to one release');
  refuseVainDatabaseSize(settings, engine.calibration !== undefined);
  refuseWithoutProbability(settings, probabilitySourceOf(engine));
  const { threads, isLowPriority, scan = scanHere } = engine;
  const sequences = queries.map(({ sequence }) => sequence);
  const options = { signal, threads, isLowPriority };
  const share = threadShares(sequences, threads);
  const optionsOf = ({ sequence }: EncodedQuery) => ({ ...options, threads: share(sequence.length) });

  const judge = createJudge({ ...settings, significance: plan.significance }, sequences, engine);
  const work = { plan, judge, settings, engine, options, optionsOf };
  const encoded = refuseUnsupportedCompositions(settings.significance, await encoding(), engine);
  const compared = await plan.compare(encoded, scan(encoded, settings, work), work);

  // While the event loop works on one query, the kernels work on others.
  const queue = fastq.promise(async (index: number) => {
    const query = encoded[index];
    return last(query, await choose(query, await compared[index](), work), work);
  }, QUERIES_AT_WORK_MAX_COUNT);
  try {
    return await Promise.all(queries.map((_, index) => queue.push(index)));
  } catch (cause) {
    queue.kill();
    throw cause;
  }
}

/** Values that the stages of all queries share. */
interface Work extends ScanWork {
  readonly plan: SearchPlan;
  readonly judge: Judge;
  readonly settings: SearchSettings;
}

/** Listed candidates of one query before they are aligned. */
interface Chosen {
  readonly compared: Compared;
  readonly rescored: Rescored;
  readonly chosen: readonly Candidate[];
  readonly judgeAlignment: JudgeAlignment;
}

/** Takes one query from its sums to its listed candidates. */
async function choose(
  query: EncodedQuery,
  compared: Compared,
  { plan, judge, engine, optionsOf }: Work,
): Promise<Chosen> {
  const options = optionsOf(query);
  const ranked = await rank(compared, query.tokens.length, engine.release, plan.rankedCount);
  const rescored = await plan.rescore(query, ranked, compared, engine, options);
  const judged = await judge(query, rescored.candidates, compared.referenceSums, options);
  return {
    compared,
    rescored,
    chosen: plan.choose(judged.candidates),
    judgeAlignment: judged.judgeAlignment,
  };
}

/** Takes one query from its listed candidates to its sealed result. */
async function alignAndSeal(
  query: EncodedQuery,
  { compared, rescored, chosen, judgeAlignment }: Chosen,
  { plan, settings, engine, optionsOf }: Work,
): Promise<SearchResult> {
  const options = optionsOf(query);
  const best = await align(query, chosen, settings, engine, options);
  const aligned = await alignFurther(query, best, judgeAlignment, settings, engine, options);
  const candidates = settings.significance === 'not_requested' ? withoutJudgement(aligned) : aligned;
  const funnel = {
    eligible: settings.targetSpace.searchedTargetCount,
    prefiltered: compared.prefilteredCount,
    rescored: rescored.candidates.length,
    aligned: candidates.filter(({ alignment }) => alignment !== undefined).length,
    listed: candidates.length,
  };
  const served = { policy: plan.policy, kernelRetry: compared.retry ?? rescored.retry, funnel };
  return seal(query, candidates, served, settings, engine);
}

/** Scans all targets with the kernels of this process. */
const scanHere: Scan = (queries, { targetSpace, limit }, { engine, options }) => {
  const tokens = queries.map((query) => query.tokens);
  const { eligible } = targetSpace;
  return {
    nearest: () => nearestSums(tokens, eligible, limit, engine, options),
    async sweep() {
      const swept = await sweptSums(tokens, eligible, engine, options);
      return swept.map((sums) => ({ ...sums, targets: eligible }));
    },
  };
};

/**
 * Threads of one query while others are at work. The candidates of one query fill the lanes of one thread better than
 * those of several threads. A query much longer than the mean gets more threads, because the call would end with it.
 */
function threadShares(
  sequences: readonly string[],
  threads: number | undefined,
): (length: number) => number | undefined {
  if (threads === undefined) return () => undefined;
  const atWork = Math.min(sequences.length, QUERIES_AT_WORK_MAX_COUNT);
  const mean = sequences.reduce((sum, { length }) => sum + length, 0) / sequences.length;
  return (length) => Math.min(threads, Math.ceil((threads * length) / (atWork * mean)));
}
