import {
  BATCH_PACK_MAX_CANDIDATES,
  BATCH_PACK_MAX_PAIRS,
  BATCH_PACK_MAX_QUERIES,
  BATCH_PACK_MAX_RESIDUES,
} from '../limits.js';
import type { SearchSettings } from './search-types.js';

/* Sizes of batches: queries that are searched together share one scan of the targets, and their sums share memory. */

/** Queries whose sums with so many targets fit in memory together; at least 1. */
export function batchSizeByPairs(targetCount: number): number {
  return Math.max(1, Math.floor(BATCH_PACK_MAX_PAIRS / Math.max(1, targetCount)));
}

/** Queries whose candidates fit in memory together until they are written; at least 1. */
export function batchSizeByCandidates(limit: number): number {
  return Math.max(1, Math.floor(BATCH_PACK_MAX_CANDIDATES / limit));
}

/** Queries that one call of `searchMany` may have; at least 1. */
export function largestBatchSize({
  limit,
  targetSpace,
}: Pick<SearchSettings, 'limit' | 'targetSpace'>): number {
  const byPairs = batchSizeByPairs(targetSpace.searchedTargetCount);
  return Math.min(BATCH_PACK_MAX_QUERIES, byPairs, batchSizeByCandidates(limit));
}

/**
 * End of the batch that begins at `start`: at most `size` queries and BATCH_PACK_MAX_RESIDUES residues, at least one.
 * @param lengthOf  residues of a query
 */
export function batchEnd<Query>(
  queries: readonly Query[],
  start: number,
  size: number,
  lengthOf: (query: Query) => number,
): number {
  let end = start;
  let residues = 0;
  while (end < queries.length) {
    residues += lengthOf(queries[end]);
    if (isOver(end - start, residues, size)) break;
    end += 1;
  }
  return end;
}

/**
 * Divides a stream of queries into the batches of `batchEnd`. It holds no more than one batch and one query.
 * Errors  those of the stream
 */
export async function* batchesOf<Query extends { readonly sequence: string }>(
  queries: AsyncIterable<Query>,
  size: number,
): AsyncGenerator<Query[]> {
  let batch: Query[] = [];
  let residues = 0;
  for await (const query of queries) {
    residues += query.sequence.length;
    if (isOver(batch.length, residues, size)) {
      yield batch;
      batch = [];
      residues = query.sequence.length;
    }
    batch.push(query);
  }
  if (batch.length > 0) yield batch;
}

/** Whether one query more is too many for a batch. @param residues  of the batch and that query */
function isOver(count: number, residues: number, size: number): boolean {
  return count > 0 && (count >= size || residues > BATCH_PACK_MAX_RESIDUES);
}
