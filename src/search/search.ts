import * as fastq from 'fastq';
import { assert } from '../errors.js';
import type { KernelRetry } from '../kernels/kernels.js';
import { QUERIES_AT_WORK_MAX_COUNT, RETAINED_MAX_CANDIDATES } from '../limits.js';
import { align } from './align.js';
import { eValueOf } from './candidate-significance.js';
import { compare, compareReferenceSet } from './compare.js';
import { sweepByCodebook } from './prefilter/codebook.js';
import {
  compareRescoreCandidates,
  sweepPrefilterHits,
  sweepSampled,
} from './prefilter/rescore-candidates.js';
import { chooseFrontier } from './prefilter/frontier.js';
import { encode } from './encode.js';
import { resolvePolicy } from './policy.js';
import { rank } from './rank.js';
import { findPaths, rescore, withFoundScores } from './rescore.js';
import { seal } from './seal.js';
import type {
  Candidate,
  Compared,
  EncodedQuery,
  Scan,
  ScanWork,
  ProteinQuery,
  SearchEngine,
  SearchRequest,
  SearchResult,
  SearchSettings,
} from './search-types.js';
import { createJudge, withoutJudgement, type Judge } from './significance.js';

/*
 * The straight line of the appliance. Proteins and one release go in; out come, for each protein, the nearest targets
 * with their measurements, and the digest that names what was found.
 *
 *   resolve policy   the guarantee that is asked for → how the release meets it
 *   encode           residues → int8 tokens, with those of relatives where the release's targets have them
 *   compare          tokens → integer MaxSim sums with every eligible target
 *   rank             sums → the nearest targets, and their distances
 *   rescore          these targets → affine scores, with the paths behind them where alignments are asked for
 *   judge            measurements → how surprising they are
 *   align            paths → extended CIGAR and counts
 *   seal             all of it → a result under its digest
 *
 * The sampled policy compares a few rows of the query first, more of them with the pool that those leave, and the whole
 * query with the finalists of that only; it rescores and judges them all, and its frontier has the best evidence. The
 * coded one looks the targets' codes up before that, and sweeps a few rows over what these leave.
 *
 * Each stage is a file here, and candidates only gain members on their way.
 */

/**
 * Searches one release with one query.
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
export function searchMany(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  return searchBy(engine.scan ?? scanHere, queries, settings, engine, signal);
}

/** The straight line with another way to look at the targets, which finds the same sums (parts/merge.ts). */
export async function searchBy(
  scan: Scan,
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  assert(settings.limit >= 1 && settings.limit <= RETAINED_MAX_CANDIDATES, 'the contract bounds the limit');
  assert(settings.targetSpace.releaseId === engine.release.id, 'a target space belongs to one release');
  const { threads, isLowPriority } = engine;
  const sequences = queries.map(({ sequence }) => sequence);
  const options = { signal, threads, isLowPriority };
  const share = threadShares(sequences, threads);
  const optionsOf = ({ sequence }: EncodedQuery) => ({ ...options, threads: share(sequence.length) });

  const policy = resolvePolicy(engine, settings);
  // A frontier of the best evidence needs it, whether or not it was asked for.
  const significance =
    policy.sampled && settings.significance === 'not_requested' ? 'if_available' : settings.significance;
  const judge = createJudge({ ...settings, significance }, sequences, engine);
  const work = { policy, judge, settings, engine, options, optionsOf };
  const encoded = await encode(queries, settings, engine, { signal });
  const measured = await scan(encoded, { ...settings, significance }, work);

  // While the event loop works on one query, the kernels work on others.
  const queue = fastq.promise(
    async (index: number) => finish(encoded[index], await measured[index](), work),
    QUERIES_AT_WORK_MAX_COUNT,
  );
  try {
    return await Promise.all(queries.map((_, index) => queue.push(index)));
  } catch (cause) {
    queue.kill();
    throw cause;
  }
}

/**
 * Threads of a query that is at work beside others. The finalists of one fill the lanes of a thread better than those
 * of several threads; one that is much longer than the rest, and would be waited for at the end, has more of them.
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

/** What the stages of all queries share. */
interface Work extends ScanWork {
  readonly judge: Judge;
  readonly settings: SearchSettings;
}

/** The kernels compare each query with the targets, or with those that the policy leaves. */
export const scanHere: Scan = async (queries, settings, work) => {
  const tokens = queries.map((query) => query.tokens);
  const { policy, engine, options } = work;
  if (policy.sampled === undefined) {
    const compared = await compare(tokens, settings, engine, options);
    return compared.map((found) => () => Promise.resolve(found));
  }
  const { sampled } = policy;
  const { targetSpace } = settings;
  if (sampled.usesCodebook) {
    return rescoreCandidates(
      queries,
      await sweepByCodebook(tokens, sampled, targetSpace, engine, options),
      work,
    );
  }
  const { prefilterHits, retry } = await sweepSampled(tokens, sampled, targetSpace, engine, options);
  return rescoreCandidates(queries, prefilterHits, work, retry);
};

/**
 * How the finalists of each query's pool are measured, with the panel, where the sampled policy answers.
 * @param retry  present where a device failed at the pools
 */
export async function rescoreCandidates(
  queries: readonly EncodedQuery[],
  prefilterHits: readonly Uint32Array[],
  { policy: { sampled }, engine, options, optionsOf }: ScanWork,
  retry?: KernelRetry,
): Promise<readonly (() => Promise<Compared>)[]> {
  assert(sampled !== undefined, 'only the sampled policy has pools');
  const tokens = queries.map((query) => query.tokens);
  const referenceSums = await compareReferenceSet(tokens, engine.calibration?.referenceSet, engine, options);
  const swept = await sweepPrefilterHits(tokens, prefilterHits, sampled, engine, options);
  return prefilterHits.map((hits, at) => async () => {
    const [query, sums] = [queries[at], referenceSums?.[at]];
    const found = await compareRescoreCandidates(query, hits, swept[at], sampled, engine, optionsOf(query));
    return { ...found, referenceSums: sums, retry: sums?.retry ?? retry ?? found.sums.retry };
  });
}

/** One query from its sums to its sealed result. */
async function finish(
  query: EncodedQuery,
  found: Compared,
  { policy, judge, settings, engine, optionsOf }: Work,
): Promise<SearchResult> {
  const { release } = engine;
  const options = optionsOf(query);
  const { limit, evidence, alignedMaxEValue } = settings;
  const count = policy.sampled ? found.sums.queryToTarget.length : limit;
  const ranked = await rank(found, query.tokens.length, release, count);
  // Finalists are scored as they are compared, and too many to find the paths of all.
  const rescored = policy.sampled
    ? { candidates: withFoundScores(ranked, found, query, engine) }
    : await rescore(
        query,
        ranked,
        alignedMaxEValue === undefined ? evidence : 'candidate_measurement',
        engine,
        options,
      );
  const { candidates: scored, paths: known } = rescored;
  const judged = await judge(query, scored, found.referenceSums, options);
  const frontier = policy.sampled ? chooseFrontier(judged, limit) : judged;
  const isPathless = known === undefined && evidence === 'pairwise_sequence_alignment';
  const isWanted = (candidate: Candidate): boolean =>
    alignedMaxEValue === undefined || (eValueOf(candidate) ?? Infinity) <= alignedMaxEValue;
  const wanted = frontier.filter(isWanted);
  const paths = isPathless ? await findPaths(query, wanted, engine, options) : known;
  const alignments = (await align(query, wanted, paths, release)).values();
  const aligned = frontier.map((candidate) => (isWanted(candidate) ? alignments.next().value! : candidate));
  const candidates = settings.significance === 'not_requested' ? withoutJudgement(aligned) : aligned;
  return seal(query, candidates, { policy, kernelRetry: found.retry ?? rescored.retry }, settings, engine);
}
