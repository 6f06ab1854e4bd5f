import type {
  HomologyCandidateSet,
  HomologyFilter,
  HomologyRequest,
} from '../../clients/typescript/types/homology.js';
import { hitOf, type ResultSet } from '../result/hits.js';
import { gloaming } from './server.js';

/** A query with its name and its search settings. */
export interface Asking {
  readonly id: string;
  readonly description?: string;
  readonly request: HomologyRequest;
  /** Id of a target space. The request sends it instead of release and filter. */
  readonly targetSpaceId?: string;
}

export interface Answered {
  readonly result: ResultSet;
  /** The request, with the release that was searched. Sending it again gives the same result. */
  readonly request: HomologyRequest;
}

const CACHED_MAX_COUNT = 8;
/** Results of this page by receipt, so that the Back button sends no request. */
const answers = new Map<string, Answered>();

/** Searches, and caches the result under its receipt. Errors  those of the client */
export async function searchAndStore(
  { id, description, request, targetSpaceId }: Asking,
  signal?: AbortSignal,
): Promise<Answered> {
  const { database_release_id: _release, filter: _filter, ...elsewhere } = request;
  const sent = targetSpaceId === undefined ? request : { ...elsewhere, target_space_id: targetSpaceId };
  const answer = await gloaming.search(sent, signal === undefined ? {} : { signal });
  const result = resultOf(
    answer,
    { id, ...(description && { description }), sequence: sequenceOf(request) },
    request,
  );
  const { database: _, ...rest } = request;
  const answered = { result, request: { ...rest, database_release_id: answer.database.release_id } };
  answers.set(answer.receipt.id, answered);
  noteRate(result);
  if (answers.size > CACHED_MAX_COUNT) answers.delete(answers.keys().next().value as string);
  return answered;
}

/** Normalizes the sequence as the server does: no blanks, no stops, upper case. */
function sequenceOf({ query }: HomologyRequest): string {
  return query.sequence.replaceAll(/[\s*]/g, '').toUpperCase();
}

export function resultOf(
  answer: Omit<
    HomologyCandidateSet,
    'request_id' | 'usage' | 'performance' | 'execution' | 'object' | 'query'
  > &
    Partial<Pick<HomologyCandidateSet, 'performance' | 'execution'>>,
  query: ResultSet['query'],
  { limit = 100, filter, query_range: range }: Pick<HomologyRequest, 'limit' | 'filter' | 'query_range'>,
): ResultSet {
  const { candidates, database, evidence_summary: evidence, execution, performance } = answer;
  return {
    query: { ...query, ...(range !== undefined && { range }) },
    hits: candidates.map(hitOf),
    database: {
      slug: database.slug,
      releaseId: database.release_id,
      targetCount: database.searched_target_count,
      residueCount: database.searched_residue_count,
    },
    settings: {
      limit,
      hasAlignments: evidence.requested === 'pairwise_sequence_alignment',
      ...(filter !== undefined && { filter }),
      databaseSize: evidence.significance.database_size,
    },
    isLimitReached: answer.is_result_limit_reached,
    ...(answer.propagation && { propagation: answer.propagation }),
    receiptId: answer.receipt.id,
    resultSha256: answer.result_sha256,
    warnings: answer.warnings.map(({ message }) => message),
    ...(execution && {
      isExhaustive: execution.policy.is_exhaustive,
      knownLosses: execution.policy.known_losses,
    }),
    ...(performance && {
      searchMs: performance.search_execution_ms,
      isCacheHit: performance.is_cache_hit,
    }),
  };
}

/** Fields of a receipt about its search. Wire names. */
interface ReceiptContent {
  readonly query: { readonly sequence: string };
  readonly release_id: string;
  readonly parameters: Required<Pick<HomologyRequest, 'evidence' | 'guarantee' | 'limit' | 'significance'>> &
    Pick<HomologyRequest, 'database_size' | 'probability' | 'query_range' | 'relatives'>;
  readonly target_space: { readonly id: string; readonly canonical_filter: HomologyFilter } | null;
}

/**
 * Returns the result of a receipt, from the cache of this page or from a repeated search. A repeated search gives the
 * same result.
 * @param isPropagated  whether the result has propagated hits, which no receipt mentions
 * Errors  those of the receipt and of the search
 */
export async function resultOfReceipt(
  receiptId: string,
  name: string,
  isPropagated: boolean,
  signal: AbortSignal,
): Promise<Answered> {
  const cached = answers.get(receiptId);
  if (cached !== undefined && (!isPropagated || cached.result.propagation !== undefined)) return cached;
  const { request, ...asking } = await requestOfReceipt(receiptId, signal);
  const propagation = isPropagated ? { propagation: 'required' as const } : {};
  return searchAndStore({ id: name, ...asking, request: { ...request, ...propagation } }, signal);
}

/** Returns the request of a receipt, with its release and its filter in canonical form. Errors  those of the client */
export async function requestOfReceipt(receiptId: string, signal: AbortSignal): Promise<Omit<Asking, 'id'>> {
  const { data } = await gloaming.call('receipts.get', { params: { receipt_id: receiptId }, signal });
  const {
    query,
    release_id: releaseId,
    parameters,
    target_space: space,
  } = data.content as unknown as ReceiptContent;
  return {
    request: {
      query: { kind: 'protein_sequence', sequence: query.sequence },
      database_release_id: releaseId,
      ...(space !== null && { filter: space.canonical_filter }),
      ...parameters,
      ...furtherAlignments(parameters),
    },
    ...(space !== null && { targetSpaceId: space.id }),
  };
}

/** Asks for all alignments of each hit if the search has alignments and E-values. Receipts do not name them. */
function furtherAlignments({
  evidence,
  significance,
}: Pick<HomologyRequest, 'evidence' | 'significance'>): Pick<HomologyRequest, 'alignments'> {
  const isPossible = evidence === 'pairwise_sequence_alignment' && significance !== 'not_requested';
  return isPossible ? { alignments: {} } : {};
}

const RATES = 'gloaming-rates';
type Rates = Readonly<Record<string, number>>;

/** Milliseconds for a million pairs of residues, from the last search of each release. */
function rates(): Rates {
  try {
    return JSON.parse(localStorage.getItem(RATES) ?? '{}') as Rates;
  } catch {
    return {};
  }
}

function noteRate({ query, database, searchMs, isCacheHit }: ResultSet): void {
  if (searchMs === undefined || isCacheHit === true || database.residueCount === 0) return;
  const rate = searchMs / ((query.sequence.length * database.residueCount) / 1e6);
  const entries = Object.entries(rates()).slice(-50);
  localStorage.setItem(RATES, JSON.stringify({ ...Object.fromEntries(entries), [database.releaseId]: rate }));
}

/** Estimates the seconds of a search from the last search of this release; undefined before the first. */
export function estimatedSeconds(
  releaseId: string,
  queryResidues: number,
  residueCount: number,
): number | undefined {
  const rate = rates()[releaseId];
  return rate === undefined ? undefined : (rate * queryResidues * (residueCount / 1e6)) / 1000;
}
