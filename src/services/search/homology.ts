import { LRUCache } from 'lru-cache';
import type { HomologyCandidateSet } from '../../contract/search/candidate-set.js';
import type { HomologyRequest } from '../../contract/search/homology.js';
import { canonicalSha256 } from '../../canonical.js';
import { Refusal } from '../../errors.js';
import { jsonInTurns, type JsonPieces } from '../../json/pieces.js';
import { INLINE_RESPONSE_MAX_BYTES, SEARCH_CACHE_MAX_CANDIDATES } from '../../limits.js';
import { planSearch } from '../../search/plan.js';
import { search } from '../../search/search.js';
import type { SearchEngine, SearchPlan, SearchRequest, SearchResult } from '../../search/search-types.js';
import { mapInTurns } from '../../turns.js';
import type { CatalogRelease } from './catalog.js';
import type { RequestContext } from '../context.js';
import { DIRECT_FORMULA_ID, DIRECT_UNITS } from '../billing/metering.js';
import { presentWalk } from './present-propagation.js';
import { presentExecuted } from './present-search.js';
import { requestedPropagation } from './propagation.js';
import { readProteinQuery } from './protein-query.js';
import type { Receipts } from './receipts.js';
import type { Reply } from '../reply.js';
import { resolveSearch, type ResolveDependencies } from './resolve-search.js';
import { createSearchTally, type SearchTally } from './tally.js';

/** A finished execution, which an equal later request may reuse. */
export interface Execution {
  readonly result: SearchResult;
  readonly createdAt: string;
}

export interface Homology {
  /**
   * Resolves, searches and presents one query against one release, in its contract form.
   * Errors  every refusal of the route homology.search; Faults of files, encoder and kernels
   */
  search(request: HomologyRequest, context: RequestContext): Promise<Reply<HomologyCandidateSet>>;
  /** Searches since the start. */
  readonly tally: Pick<SearchTally, 'counts'>;
}

export interface HomologyDependencies extends ResolveDependencies {
  readonly receipts: Receipts;
  readonly serverVersion: string;
  /** Id of this worker if a fallback backend served: `native:avx2`. */
  readonly workerOn: (kernels: string) => string;
  readonly now: () => Date;
}

/** A resolved request, before any work. */
interface Resolved {
  readonly release: CatalogRelease;
  readonly engine: SearchEngine;
  readonly request: SearchRequest;
  readonly plan: SearchPlan;
}

export function createHomology(dependencies: HomologyDependencies): Homology {
  const cache = new LRUCache<string, Execution>({
    maxSize: SEARCH_CACHE_MAX_CANDIDATES,
    // A response without candidates also takes space.
    sizeCalculation: ({ result }) => result.candidates.length + 1,
  });
  const tally = createSearchTally();
  return {
    tally,
    async search(wire, context) {
      const resolved = await resolve(wire, context, dependencies);
      const { engine, request } = resolved;
      const propagation = await requestedPropagation(wire.propagation, request, engine);
      const key = cacheKey(resolved);
      const startedAt = performance.now();
      const cached = cache.get(key);
      const execution = cached ?? (await execute(resolved, context, dependencies));
      cache.set(key, execution);
      const receipt = await dependencies.receipts.issue(
        resolved.engine,
        resolved.request,
        execution,
        context,
      );
      const searchMs = cached === undefined ? performance.now() - startedAt : 0;
      tally.add({
        database: resolved.release.slug,
        guarantee: resolved.request.guarantee,
        isCacheHit: cached !== undefined,
        seconds: searchMs / 1000,
      });
      const { relatives: homologs } = execution.result;
      const { candidates } = execution.result;
      const searched = { sequence: request.query.sequence, candidates, targetSpace: request.targetSpace };
      const answer = await present(resolved, execution, receipt, context, dependencies.serverVersion);
      const finished = {
        ...answer,
        ...(propagation && { propagation: presentWalk(searched, engine, propagation) }),
        performance: {
          is_cache_hit: cached !== undefined,
          queue_wait_ms: wholeMs(context.queueWaitMs ?? 0),
          ...(homologs && { relatives_search_ms: cached === undefined ? wholeMs(homologs.elapsedMs) : 0 }),
          search_execution_ms: wholeMs(searchMs),
          server_total_ms: wholeMs(performance.now() - context.receivedAtMs),
        },
      };
      const json = await jsonInTurns(finished);
      await refuseOversized(finished, json);
      const retry = execution.result.kernelRetry;
      return {
        value: finished,
        json,
        isCacheHit: cached !== undefined,
        rowCount: finished.candidates.length,
        ...(retry && { headers: { 'X-Service-Served-From': dependencies.workerOn(retry.servedBy) } }),
      };
    },
  };
}

/**
 * Resolves database, release, target space and query of a request. Refuses everything that can be refused before work.
 * Errors  the refusals of the route
 */
async function resolve(
  wire: HomologyRequest,
  context: RequestContext,
  dependencies: HomologyDependencies,
): Promise<Resolved> {
  const query = readProteinQuery(wire.query.sequence, wire.query_range);
  const { release, engine, settings } = await resolveSearch(wire, context, dependencies);
  return { release, engine, request: { ...settings, query }, plan: planSearch(engine, settings) };
}

/** Equal keys mean equal executions: the key has all values that the result depends on, and no other. */
function cacheKey({ release, engine, request, plan }: Resolved): string {
  return canonicalSha256({
    ...(request.alignments && { alignments: { ...request.alignments } }),
    calibration_id: engine.calibration?.id ?? null,
    database_size: request.databaseSize ?? null,
    evidence: request.evidence,
    guarantee: request.guarantee,
    limit: request.limit,
    policy_id: plan.policy.id,
    probability: request.probability ?? null,
    query: request.query.sequence,
    ...(request.queryRange && { query_range: { ...request.queryRange } }),
    relatives: request.relatives ?? null,
    release_id: release.releaseId,
    significance: request.significance,
    target_space_id: request.targetSpace.id ?? null,
  });
}

async function execute(
  { engine, request, plan }: Resolved,
  context: RequestContext,
  { now }: HomologyDependencies,
): Promise<Execution> {
  const result = await search(request, engine, context.signal, plan);
  return Object.freeze({ result, createdAt: now().toISOString() });
}

type Answer = Omit<HomologyCandidateSet, 'performance'>;

async function present(
  { release, engine, request }: Resolved,
  { result, createdAt }: Execution,
  receipt: HomologyCandidateSet['receipt'],
  context: RequestContext,
  serverVersion: string,
): Promise<Answer> {
  const searched = { database: release, engine, request, result, serverVersion };
  const { result_sha256, warnings, ...answer } = await presentExecuted(searched, createdAt, receipt);
  const { dimension } = engine.release.manifest.encoder;
  return {
    object: 'homology_candidate_set',
    ...answer,
    request_id: context.requestId,
    result_sha256,
    usage: {
      billable_formula_id: DIRECT_FORMULA_ID,
      billable_units: DIRECT_UNITS,
      logical_bytes_returned: await returnedBytes(answer.candidates),
      logical_bytes_read: request.targetSpace.searchedResidueCount * dimension,
    },
    warnings,
  };
}

async function returnedBytes(candidates: HomologyCandidateSet['candidates']): Promise<number> {
  const sizes = await mapInTurns(candidates, ({ target }) => jsonBytes(target));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Refuses a response over the size limit. A response is never cut. Errors  Refusal `response_too_large` */
async function refuseOversized(answer: HomologyCandidateSet, json: JsonPieces): Promise<void> {
  const total = json.reduce((sum, { length }) => sum + length, 0);
  if (total <= INLINE_RESPONSE_MAX_BYTES) return;
  const sizes = await mapInTurns(answer.candidates, jsonBytes);
  let bytes = jsonBytes({ ...answer, candidates: [] });
  let fitting = 0;
  for (const size of sizes) {
    bytes += size + 1;
    if (bytes > INLINE_RESPONSE_MAX_BYTES) break;
    fitting += 1;
  }
  throw new Refusal(
    'response_too_large',
    `The answer has ${total} bytes, over the inline ceiling of ${INLINE_RESPONSE_MAX_BYTES}. ` +
      `The first ${fitting} rows fit: ask with "limit": ${fitting}, or retain all rows with POST /v1/runs.`,
    { param: 'limit', fitting_row_count: fitting, response_bytes: total },
  );
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function wholeMs(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds));
}
