import { canonicalDigestInTurns } from '../../canonical.js';
import type { HomologyCandidateSet } from '../../contract/search/candidate-set.js';
import type { Receipt } from '../../contract/search/receipts.js';
import { Refusal } from '../../errors.js';
import type { SearchEngine, SearchRequest, SearchResult } from '../../search/search-types.js';
import type { ReceiptTable } from '../../store/tables/receipts.js';
import type { RequestContext } from '../context.js';
import { releaseSnapshot, type Catalog } from './catalog.js';
import type { Reply, Traces } from '../reply.js';

/** Members of a receipt's content that name the inputs of the computation. */
interface ReceiptOrigin {
  readonly release_id: string;
  readonly kernels_version: string;
  readonly encoder: { readonly id: string; readonly sha256: string };
}

/** Hash-named records of computations with their inputs. */
export interface Receipts {
  /** Stores and returns the receipt of an execution. An execution is reused only for requests with equal parameters. */
  issue(
    engine: SearchEngine,
    request: SearchRequest,
    execution: { readonly result: SearchResult },
    context: RequestContext,
  ): Promise<HomologyCandidateSet['receipt']>;
  /** Errors  Refusal `receipt_not_found`; `permission_denied` where only other organizations made it */
  get(id: string, context: RequestContext): Reply<Receipt>;
}

export function createReceipts(
  table: ReceiptTable,
  catalog: Pick<Catalog, 'find'>,
  now: () => Date,
): Receipts {
  // A reused execution has its original receipt.
  const issued = new WeakMap<object, HomologyCandidateSet['receipt']>();
  return {
    async issue(engine, request, execution, { organizationId }) {
      const cached = issued.get(execution);
      if (cached !== undefined && table.isRecent(cached.id, organizationId)) return cached;
      const content = receiptContent(engine, request, execution.result);
      const { sha256, bytes } = await canonicalDigestInTurns(content);
      const id = `rcpt_${sha256}`;
      // Not the time of the execution: the receipt of a cached one would be the oldest of the table, and evicted.
      const createdAt = now().toISOString();
      await table.persist({ id, createdAt, content, bytes }, organizationId);
      const receipt = Object.freeze({ bytes, id, sha256 });
      issued.set(execution, receipt);
      return receipt;
    },
    get(id, { organizationId }) {
      const row = table.get(id);
      if (row === undefined) throw new Refusal('receipt_not_found', `No receipt has the id ${id}.`);
      if (!row.organizationIds.includes(organizationId)) {
        throw new Refusal('permission_denied', 'The receipt belongs to another organization.');
      }
      return {
        value: {
          object: 'receipt',
          id,
          sha256: id.slice('rcpt_'.length),
          bytes: row.bytes,
          created_at: row.createdAt,
          content: row.content,
        },
        ...originOf(row.content, catalog, organizationId),
        inputRefs: [id],
        objectRefs: [id],
      };
    },
  };
}

/** Inputs and tools of a receipt. Every variant of these tools gives the same bits. */
function originOf(
  content: Readonly<Record<string, unknown>>,
  catalog: Pick<Catalog, 'find'>,
  organizationId: string,
): Traces {
  const {
    release_id: releaseId,
    encoder,
    kernels_version: version,
  } = content as Readonly<Record<string, unknown>> & ReceiptOrigin;
  const release = { releaseId, slug: catalog.find(releaseId, organizationId)?.slug ?? 'unlisted' };
  return {
    databaseSnapshots: [releaseSnapshot(release)],
    toolVersions: [
      { name: 'gloaming-kernels', version, path: 'any' },
      { name: `encoder ${encoder.id}`, version: `sha256:${encoder.sha256}`, path: 'any' },
    ],
  };
}

/**
 * Everything that determines a result and allows its recomputation: no time, no request id, no float. Of the kernels
 * only the version counts, because every backend of one version gives the same bits.
 */
function receiptContent(
  engine: SearchEngine,
  request: SearchRequest,
  result: SearchResult,
): Record<string, unknown> {
  const { manifest, id, targets } = engine.release;
  return {
    format: 'gloaming-receipt/1',
    candidates: result.candidates.map((candidate) => ({
      affine_score: candidate.affine.rawScore,
      id: targets.id(candidate.targetIndex),
      query_to_target_sum: candidate.queryToTargetSum,
      target_to_query_sum: candidate.targetToQuerySum,
      ...(candidate.alignment && {
        cigar: candidate.alignment.cigar,
        query_end: candidate.alignment.queryEnd,
        query_start: candidate.alignment.queryStart,
        target_end: candidate.alignment.targetEnd,
        target_start: candidate.alignment.targetStart,
      }),
    })),
    encoder: { id: manifest.encoder.id, sha256: manifest.encoder.sha256 },
    kernels_version: engine.backend.version,
    parameters: {
      ...(request.databaseSize !== undefined && { database_size: request.databaseSize }),
      evidence: request.evidence,
      guarantee: request.guarantee,
      limit: request.limit,
      ...(request.probability !== undefined && { probability: request.probability }),
      ...(request.queryRange && { query_range: { ...request.queryRange } }),
      ...(result.relatives && { relatives: request.relatives ?? 'as_release' }),
      significance: request.significance,
    },
    policy_id: result.policy.id,
    query: {
      normalization_id: request.query.normalizationId,
      sequence: request.query.sequence,
      tokens_sha256: result.queryTokensSha256,
    },
    release_id: id,
    result_sha256: result.resultSha256,
    target_space: request.targetSpace.id === undefined ? null : targetSpaceContent(request),
  };
}

function targetSpaceContent({ targetSpace }: SearchRequest): Record<string, unknown> {
  return { canonical_filter: targetSpace.canonicalFilter, id: targetSpace.id };
}
