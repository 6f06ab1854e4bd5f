import { LRUCache } from 'lru-cache';
import type { HomologyCandidateSet } from '../contract/candidate-set.js';
import type { Warning } from '../contract/envelope.js';
import type { HomologyRequest } from '../contract/homology.js';
import { canonicalSha256, sha256Hex } from '../canonical.js';
import { Refusal } from '../errors.js';
import { INLINE_RESPONSE_MAX_BYTES, SEARCH_CACHE_MAX_CANDIDATES } from '../limits.js';
import type { TargetSpace } from '../release/release.js';
import { search } from '../search/search.js';
import type { SearchEngine, SearchRequest, SearchResult } from '../search/search-types.js';
import { normaliseProtein } from '../sequence/protein.js';
import type { Catalog, CatalogRelease } from './catalog.js';
import type { RequestContext } from './context.js';
import type { Engines } from './engines.js';
import { presentCandidate, summariseEvidence } from './present-candidates.js';
import type { Receipts } from './receipts.js';
import type { Reply } from './reply.js';
import { semanticProfileId } from './semantic-profile.js';
import type { TargetSpaces } from './target-spaces.js';

/** A finished execution, as an equal later request may reuse it. */
export interface Execution {
  readonly result: SearchResult;
  readonly createdAt: string;
}

export interface Homology {
  /**
   * One query against one release, resolved, searched and presented in the words of the contract.
   * Errors  every refusal of the route homology.search; Faults of files, encoder and kernels
   */
  search(request: HomologyRequest, context: RequestContext): Promise<Reply<HomologyCandidateSet>>;
}

export interface HomologyParts {
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
  readonly receipts: Receipts;
  readonly serverVersion: string;
  readonly now: () => Date;
}

/** What one request was resolved to, before any work. */
interface Resolved {
  readonly release: CatalogRelease;
  readonly engine: SearchEngine;
  readonly request: SearchRequest;
}

export function createHomology(parts: HomologyParts): Homology {
  const cache = new LRUCache<string, Execution>({
    maxSize: SEARCH_CACHE_MAX_CANDIDATES,
    // An answer without candidates still takes room.
    sizeCalculation: ({ result }) => result.candidates.length + 1,
  });
  return {
    async search(wire, context) {
      const resolved = await resolve(wire, context, parts);
      const key = cacheKey(resolved);
      const startedAt = performance.now();
      const known = cache.get(key);
      const execution = known ?? (await execute(resolved, context, parts));
      cache.set(key, execution);
      const receipt = await parts.receipts.issue(resolved.engine, resolved.request, execution, context);
      const searchMs = known === undefined ? performance.now() - startedAt : 0;
      const answer = present(resolved, execution, receipt, context, parts.serverVersion);
      const finished = {
        ...answer,
        performance: {
          is_cache_hit: known !== undefined,
          queue_wait_ms: wholeMs(context.queueWaitMs ?? 0),
          search_execution_ms: wholeMs(searchMs),
          server_total_ms: wholeMs(performance.now() - context.receivedAtMs),
        },
      };
      refuseOversized(finished);
      return { value: finished, isCacheHit: known !== undefined, rowCount: finished.candidates.length };
    },
  };
}

/** Database, release, target space and query of a request; everything that can be refused before work is. */
async function resolve(
  wire: HomologyRequest,
  context: RequestContext,
  parts: HomologyParts,
): Promise<Resolved> {
  const { sequence, normalizationId } = normaliseProtein(wire.query.sequence);
  const { release, targetSpaceOf } = selectRelease(wire, context, parts);
  const engine = await parts.engines.open(release.releaseId);
  const targetSpace = await targetSpaceOf(engine);
  const request: SearchRequest = {
    query: { sequence, normalizationId },
    targetSpace,
    limit: wire.limit,
    evidence: wire.evidence,
    guarantee: wire.guarantee,
    significance: wire.significance,
  };
  return { release, engine, request };
}

interface Selection {
  readonly release: CatalogRelease;
  readonly targetSpaceOf: (engine: SearchEngine) => Promise<TargetSpace>;
}

function selectRelease(wire: HomologyRequest, context: RequestContext, parts: HomologyParts): Selection {
  const { catalog, targetSpaces } = parts;
  const { organizationId } = context;
  if (wire.target_space_id !== undefined) {
    const stored = targetSpaces.find(wire.target_space_id, organizationId);
    const release = catalog.release(stored.databaseReleaseId, organizationId);
    return { release, targetSpaceOf: async (engine) => targetSpaces.reopen(engine.release, stored) };
  }
  const release =
    wire.database_release_id === undefined
      ? catalog.defaultRelease(wire.database, organizationId)
      : catalog.release(wire.database_release_id, organizationId);
  const targetSpaceOf = async ({ release: opened }: SearchEngine): Promise<TargetSpace> =>
    wire.filter === undefined
      ? targetSpaces.unfiltered(opened)
      : targetSpaces.ofFilter(opened, wire.filter, context);
  return { release, targetSpaceOf };
}

/** Equal keys are equal executions: everything that the result depends on, and nothing else. */
function cacheKey({ release, request }: Resolved): string {
  return canonicalSha256({
    evidence: request.evidence,
    guarantee: request.guarantee,
    limit: request.limit,
    query: request.query.sequence,
    release_id: release.releaseId,
    significance: request.significance,
    target_space_id: request.targetSpace.id ?? null,
  });
}

async function execute(
  { engine, request }: Resolved,
  context: RequestContext,
  { now }: HomologyParts,
): Promise<Execution> {
  const result = await search(request, engine, context.signal);
  return Object.freeze({ result, createdAt: now().toISOString() });
}

type Answer = Omit<HomologyCandidateSet, 'performance'>;

function present(
  { release, engine, request }: Resolved,
  { result, createdAt }: Execution,
  receipt: HomologyCandidateSet['receipt'],
  context: RequestContext,
  serverVersion: string,
): Answer {
  const { manifest } = engine.release;
  const { targetSpace } = request;
  const candidates = result.candidates.map((entry) =>
    presentCandidate(entry, result.queryLength, engine.release),
  );
  return {
    object: 'homology_candidate_set',
    candidates,
    database: {
      corpus_snapshot_id: manifest.corpus_snapshot_id,
      id: release.databaseId,
      release_id: release.releaseId,
      searched_residue_count: targetSpace.searchedResidueCount,
      searched_target_count: targetSpace.searchedTargetCount,
      slug: release.slug,
      ...(targetSpace.id !== undefined && {
        canonical_filter_sha256: targetSpace.canonicalFilterSha256,
        target_space_id: targetSpace.id,
      }),
    },
    evidence_summary: summariseEvidence(request, result),
    execution: {
      created_at: createdAt,
      engine: `${engine.backend.name}:${engine.backend.variant}`,
      engine_release: engine.backend.version,
      semantic_profile_id: semanticProfileId(manifest),
      server_version: serverVersion,
      policy: {
        is_deterministic: true,
        is_exhaustive: result.policy.isExhaustive,
        is_fallback: result.policy.isFallback,
        outcome: 'complete_exact',
        requested_guarantee: result.policy.requestedGuarantee,
        resolved_guarantee: result.policy.resolvedGuarantee,
        resolution_reason: result.policy.resolutionReason,
      },
    },
    is_result_limit_reached: result.isResultLimitReached,
    query: {
      kind: 'protein_sequence',
      normalization_id: request.query.normalizationId,
      normalized_length: result.queryLength,
      sha256: sha256Hex(request.query.sequence),
    },
    ranking: {
      comparability: 'within_query_only',
      order: 'ascending',
      primary_measurement: 'maxsim.bidirectional',
      scope: 'resolved_policy_frontier',
      tie_breakers: [{ field: 'target.id', order: 'ascending' }],
    },
    receipt,
    request_id: context.requestId,
    result_sha256: result.resultSha256,
    usage: {
      logical_bytes_returned: returnedBytes(candidates),
      logical_bytes_read: targetSpace.searchedResidueCount * manifest.encoder.dimension,
    },
    warnings: warningsOf(engine, targetSpace),
  };
}

function warningsOf({ release }: SearchEngine, targetSpace: TargetSpace): Warning[] {
  const warnings: Warning[] = [];
  if (targetSpace.searchedTargetCount === 0) {
    warnings.push({
      code: 'target_space_empty',
      message: 'No target is eligible under this filter, so nothing was compared.',
      details: { target_space_id: targetSpace.id },
    });
  }
  if (release.manifest.is_simulated) {
    warnings.push({
      code: 'simulated_database',
      message: 'The proteins of this database were simulated; candidates mean nothing in biology.',
      details: { title: release.manifest.title },
    });
  }
  return warnings;
}

function returnedBytes(candidates: HomologyCandidateSet['candidates']): number {
  return candidates.reduce((sum, { target }) => sum + Buffer.byteLength(JSON.stringify(target)), 0);
}

/** An answer over the ceiling is refused whole, never cut. */
function refuseOversized(answer: HomologyCandidateSet): void {
  const total = Buffer.byteLength(JSON.stringify(answer));
  if (total <= INLINE_RESPONSE_MAX_BYTES) return;
  let bytes = Buffer.byteLength(JSON.stringify({ ...answer, candidates: [] }));
  let fitting = 0;
  for (const candidate of answer.candidates) {
    bytes += Buffer.byteLength(JSON.stringify(candidate)) + 1;
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

function wholeMs(milliseconds: number): number {
  return Math.max(0, Math.round(milliseconds));
}
