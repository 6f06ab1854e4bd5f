import { compareReferenceSet } from '../compare.js';
import { sweepByCodebook } from '../prefilter/codebook.js';
import {
  ascending,
  bestOf,
  eligibleTargets,
  isMeasuredWhole,
  prefilterCountsOf,
} from '../prefilter/rescore-candidates.js';
import { COARSE_ROWS } from '../prefilter/sampling.js';
import { rescoreCandidates, searchBy } from '../search.js';
import type {
  EncodedQuery,
  Scan,
  ProteinQuery,
  SearchEngine,
  SearchResult,
  SearchSettings,
} from '../search-types.js';
import type { PartialResult } from './scan.js';
import { requireTokens } from './whole.js';

/**
 * The results of queries whose surveys of all ranges are at hand, in the order of the ranges: those of `searchMany`, to
 * the bit. What could be among the best of all is among the best of its range, its sums are exact integers wherever
 * they were added up, and rank by the same rules.
 * Errors  Refusal `encoder_changed` where a survey is of other tokens; those of searchMany
 * Cost    alignments of the frontier, and the panel: their tokens are all that is read; where the coded policy answers,
 *         a look at all codes, and the pool
 */
export function searchPartialResults(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  partialResults: readonly (readonly PartialResult[])[],
  engine: SearchEngine,
  signal?: AbortSignal,
): Promise<readonly SearchResult[]> {
  return searchBy(scanPartialResults(partialResults), queries, settings, engine, signal);
}

/** The way to look at the targets through the surveys of their parts. @param partialResults  by range, then by query */
export function scanPartialResults(partialResults: readonly (readonly PartialResult[])[]): Scan {
  return async (queries, settings, work) => {
    const { policy, engine, options } = work;
    const tokens = queries.map((query) => query.tokens);
    const merged = queries.map((query, index) =>
      merge(
        query,
        partialResults.map((part) => part[index]),
        engine,
      ),
    );
    if (policy.sampled === undefined) {
      const referenceSet =
        settings.significance === 'not_requested' ? undefined : engine.calibration?.referenceSet;
      const referenceSums = await compareReferenceSet(tokens, referenceSet, engine, options);
      return merged.map(({ targets, ...sums }, query) => {
        const found = referenceSums?.[query];
        return () => Promise.resolve({ targets, sums, referenceSums: found, retry: found?.retry });
      });
    }
    const { sampled } = policy;
    const { targetSpace } = settings;
    // Codes of all targets are less than tokens of a few: they are not divided.
    if (sampled.usesCodebook) {
      return rescoreCandidates(
        queries,
        await sweepByCodebook(tokens, sampled, targetSpace, engine, options),
        work,
      );
    }
    const prefilterHits = await Promise.all(
      merged.map(async ({ targets, ...sums }, query) => {
        if (isMeasuredWhole(sampled, targetSpace)) return eligibleTargets(targetSpace);
        const rowCount = Math.min(tokens[query].length, COARSE_ROWS);
        return ascending(await bestOf(sums, targets, rowCount, prefilterCountsOf(sampled), engine.release));
      }),
    );
    return rescoreCandidates(queries, prefilterHits, work);
  };
}

function merge(query: EncodedQuery, parts: readonly PartialResult[], { release }: SearchEngine) {
  for (const partialResult of parts) requireTokens(partialResult, query, release.manifest.encoder.dimension);
  const joined = (values: (partialResult: PartialResult) => Int32Array): Int32Array =>
    Int32Array.from(parts.flatMap((partialResult) => Array.from(values(partialResult))));
  return {
    targets: Uint32Array.from(parts.flatMap(({ targets }) => Array.from(targets))),
    queryToTarget: joined(({ queryToTarget }) => queryToTarget),
    targetToQuery: joined(({ targetToQuery }) => targetToQuery),
    queryExcess: joined(({ queryExcess }) => queryExcess ?? new Int32Array(0)),
  };
}
