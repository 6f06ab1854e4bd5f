import type { BatchSearchRunSummary, HomologyQueryResult } from '../../contract/runs/run-kinds.js';
import type { CutOffs } from '../../contract/search/selection.js';
import { sha256Hex } from '../../canonical.js';
import { batchEnd, largestBatchSize } from '../../search/batches.js';
import { planSearch } from '../../search/plan.js';
import { searchMany } from '../../search/search.js';
import type { ProteinQuery, SearchPlan, SearchResult } from '../../search/search-types.js';
import { NORMALIZATION_ID } from '../../sequence/protein.js';
import type { RequestContext } from '../context.js';
import type { Files } from '../storage/files.js';
import {
  presentDatabase,
  presentExecution,
  presentAnswer,
  searchWarnings,
} from '../search/present-search.js';
import { evidenceOfCandidate } from '../evidence.js';
import { passesCutOffs } from '../select.js';
import { presentWalk } from '../search/present-propagation.js';
import { requestedPropagation, type Propagation } from '../search/propagation.js';
import { resolveSearch, type ResolvedSearch } from '../search/resolve-search.js';
import { searchTraces, toolsOf } from '../search/traces.js';
import { defineRunKind, type RunKind, type RunStep } from '../runs/run-kind.js';
import {
  acceptSearch,
  continueFrom,
  reopenSearch,
  withinCutOffs,
  type AcceptedSearch,
  type SearchCheckpoint,
} from './plan.js';
import {
  packedLength,
  packQueries,
  readManagedQueries,
  readPackedQuery,
  unpackQueries,
  type PackedQueries,
} from './queries.js';
import type { SearchRunDependencies } from './search.js';

export interface BatchSearchRunDependencies extends SearchRunDependencies {
  readonly files: Pick<Files, 'openManagedFile'>;
}

interface Plan extends AcceptedSearch {
  readonly normalizationId: string;
  /** In the form of packQueries. */
  readonly queries: PackedQueries;
}

interface Checkpoint extends SearchCheckpoint {
  readonly doneCount: number;
  readonly candidateCount: number;
  /** Number of candidates that cut-offs excluded from the rows. */
  readonly leftOutCount?: number;
  /** Chain of result digests over the finished queries. */
  readonly resultSha256: string;
  /** Backend that served queries after a device failed; absent without a failure. */
  readonly retriedOn?: string;
}

/** Queries that kernels compare with each target together. */
interface Pack {
  readonly start: number;
  readonly queries: readonly (ProteinQuery & { readonly id: string })[];
  readonly results: readonly SearchResult[];
  readonly durationMs: number;
}

const FRESH: Checkpoint = { doneCount: 0, candidateCount: 0, resultSha256: sha256Hex('') };
const FIRST_PACK_QUERIES = 16;
/** Target duration of a pack. It bounds the work lost in a crash and the interval of progress reports. */
const PACK_MS = 4_000;

/** `homology.batch_search`: many queries in packs. Each query gets the same result as on the direct route. */
export function batchSearchRuns(dependencies: BatchSearchRunDependencies): RunKind {
  return defineRunKind<'homology.batch_search', Plan>({
    key: 'homology.batch_search',
    async prepare(input, context) {
      const { queries, fileIds } = await readManagedQueries(input, context, dependencies.files);
      const resolved = await resolveSearch(input, context, dependencies);
      const packed = { normalizationId: NORMALIZATION_ID, queries: await packQueries(queries) };
      const lengths = queries.map(({ sequence }) => sequence.length);
      const plan = { ...(await acceptSearch(resolved, input, lengths)), ...packed };
      return { plan, totalCount: queries.length, traces: searchTraces(input, resolved, fileIds) };
    },
    async *execute(plan, { context, checkpoint }) {
      const resolved = await reopenSearch(plan, context, dependencies);
      const lines = await unpackQueries(plan.queries);
      const { engine, settings } = resolved;
      const searchPlan = planSearch(engine, settings);
      const propagation = await requestedPropagation(plan.propagation, settings, engine);
      const most = largestBatchSize(settings);
      const packOf = (start: number, size: number): Promise<Pack> => {
        const end = batchEnd(lines, start, Math.min(size, most), packedLength);
        return searchPack(
          lines.slice(start, end),
          start,
          plan.normalizationId,
          searchPlan,
          resolved,
          context,
        );
      };
      let done = continueFrom(checkpoint as Checkpoint | undefined, FRESH, resolved, propagation);
      let ahead = packOf(done.doneCount, FIRST_PACK_QUERIES);
      while (done.doneCount < lines.length) {
        const pack = await ahead;
        const end = pack.start + pack.queries.length;
        // The next pack is computed while this one is written.
        ahead = packOf(end, nextSize(pack));
        const rows = await presentPack(
          pack,
          resolved,
          { cutOffs: plan.cutOffs, propagation },
          context,
          dependencies,
        );
        done = advance(done, pack, plan.cutOffs);
        yield stepOf(rows, done);
      }
      const { policy } = searchPlan;
      // The device may have served other queries of the run. The execution names the device, this warning the retry.
      const execution = presentExecution(engine, { policy }, dependencies.serverVersion);
      const summary: BatchSearchRunSummary = {
        object: 'homology_batch_search_summary',
        database: presentDatabase(resolved.release, engine, settings.targetSpace),
        execution: { created_at: dependencies.now().toISOString(), ...execution },
        query_count: lines.length,
        candidate_count: done.candidateCount,
        ...(plan.cutOffs !== undefined && { left_out_count: done.leftOutCount ?? 0 }),
        result_sha256: done.resultSha256,
        warnings: searchWarnings(engine, settings.targetSpace, done.retriedOn),
      };
      return {
        rows: [],
        doneCount: done.doneCount,
        summarise: () => summary,
        billableUnits: lines.length,
        traces: { toolVersions: toolsOf(engine, done.retriedOn) },
      };
    },
  });
}

/** Searches the next queries together. No-op past the end. */
function searchPack(
  lines: readonly string[],
  start: number,
  normalizationId: string,
  plan: SearchPlan,
  { engine, settings }: ResolvedSearch,
  { signal }: RequestContext,
): Promise<Pack> {
  const queries = lines.map((line) => ({ ...readPackedQuery(line), normalizationId }));
  const search = async (): Promise<Pack> => {
    const startedAt = performance.now();
    const results = queries.length === 0 ? [] : await searchMany(queries, settings, engine, signal, plan);
    return { start, queries, results, durationMs: performance.now() - startedAt };
  };
  const pack = search();
  // The run may end without awaiting this batch. Without this handler a failure would be an unhandled rejection.
  pack.catch(() => undefined);
  return pack;
}

/** Number of queries that should take PACK_MS at the pace of the last pack; at most twice the last number. */
function nextSize({ queries, durationMs }: Pack): number {
  const fitting = Math.round((queries.length * PACK_MS) / Math.max(1, durationMs));
  return Math.max(1, Math.min(fitting, 2 * queries.length));
}

function advance(done: Checkpoint, { results }: Pack, cutOffs: CutOffs | undefined): Checkpoint {
  const retry = results.find(({ kernelRetry }) => kernelRetry !== undefined)?.kernelRetry;
  return {
    ...done,
    ...(retry && { retriedOn: retry.servedBy }),
    ...(cutOffs && { leftOutCount: (done.leftOutCount ?? 0) + countLeftOut(results, cutOffs) }),
    doneCount: done.doneCount + results.length,
    candidateCount: results.reduce((sum, { candidates }) => sum + candidates.length, done.candidateCount),
    resultSha256: results.reduce(
      (chain, { resultSha256 }) => sha256Hex(chain + resultSha256),
      done.resultSha256,
    ),
  };
}

function countLeftOut(results: readonly SearchResult[], cutOffs: CutOffs): number {
  const candidates = results.flatMap((result) => result.candidates);
  return candidates.filter((candidate) => !passesCutOffs(evidenceOfCandidate(candidate), cutOffs)).length;
}

function stepOf(rows: AsyncIterable<unknown>, done: Checkpoint): RunStep {
  return { rows, stage: 'searching', doneCount: done.doneCount, checkpoint: done };
}

interface RowOptions {
  readonly cutOffs: CutOffs | undefined;
  readonly propagation: Propagation | undefined;
}

/** One row for each query. Its candidates become text only when the row is written. Errors  the signal's reason */
async function presentPack(
  { start, queries, results }: Pack,
  { engine, settings }: ResolvedSearch,
  { cutOffs, propagation }: RowOptions,
  context: RequestContext,
  dependencies: SearchRunDependencies,
): Promise<AsyncIterable<HomologyQueryResult>> {
  const issued = await Promise.all(
    queries.map((query, index) =>
      dependencies.receipts.issue(engine, { ...settings, query }, { result: results[index] }, context),
    ),
  );
  return (async function* () {
    for (const [index, result] of results.entries()) {
      const query = queries[index];
      const request = { ...settings, query };
      const { candidates } = result;
      const walked = { sequence: query.sequence, candidates, targetSpace: settings.targetSpace };
      const { result_sha256, ...answer } = await presentAnswer({ engine, request, result });
      const row = {
        object: 'homology_query_result',
        query_index: start + index,
        query_id: query.id,
        ...answer,
        ...(propagation && { propagation: presentWalk(walked, engine, propagation) }),
        receipt: issued[index],
        result_sha256,
      } as const;
      yield withinCutOffs(row, cutOffs);
    }
  })();
}
