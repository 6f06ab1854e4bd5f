import { searchMany } from '../search.js';
import type {
  EncodedQuery,
  ProteinQuery,
  Scan,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from '../search-types.js';
import type { PartialResult } from './scan.js';
import { requireTokens } from './whole.js';

/**
 * Searches with the partial results of all partitions, in the order of the partitions. The results are those of
 * `searchMany`, to the bit. Each target that can be among the best of all is among the best of its partition. Sums are
 * exact integers, and both rank by the same rules.
 * Errors  Refusal `encoder_changed` if a partial result is of other tokens; those of `searchMany`
 * Cost    reads the tokens of the reference set and of the candidates only; with the codebook prefilter also all
 *         centroid ids and the tokens of the prefilter hits
 */
export function searchPartialResults(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  partialResults: readonly (readonly PartialResult[])[],
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  return searchMany(queries, settings, { ...engine, scan: scanPartialResults(partialResults) }, signal);
}

/** Scan that merges partial results. @param partialResults  by partition, then by query */
export function scanPartialResults(partialResults: readonly (readonly PartialResult[])[]): Scan {
  return (queries, _, { engine }) => {
    const merged = queries.map((query, index) =>
      merge(
        query,
        partialResults.map((ofPartition) => ofPartition[index]),
        engine,
      ),
    );
    const sums = () => Promise.resolve(merged);
    return { nearest: sums, sweep: sums };
  };
}

function merge(query: EncodedQuery, partialResults: readonly PartialResult[], { release }: SearchEngine) {
  for (const each of partialResults) requireTokens(each, query, release.manifest.encoder.dimension);
  const joined = (values: (each: PartialResult) => Int32Array): Int32Array =>
    Int32Array.from(partialResults.flatMap((each) => Array.from(values(each))));
  return {
    targets: Uint32Array.from(partialResults.flatMap(({ targets }) => Array.from(targets))),
    queryToTarget: joined(({ queryToTarget }) => queryToTarget),
    targetToQuery: joined(({ targetToQuery }) => targetToQuery),
    queryExcess: joined(({ queryExcess }) => queryExcess ?? new Int32Array(0)),
  };
}
