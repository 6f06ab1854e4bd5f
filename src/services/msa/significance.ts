import { LRUCache } from 'lru-cache';
import { SEARCH_CACHE_MAX_CANDIDATES } from '../../limits.js';
import type { TargetSpace } from '../../release/release.js';
import { expectedFalseHits } from '../../search/candidate-significance.js';
import { search } from '../../search/search.js';
import type { SearchEngine } from '../../search/search-types.js';
import type { AlignedReceipt } from './rows.js';

/** E-values in the order of a receipt's candidates; undefined where the calibration supports none. */
export type ExpectedFalseHits = readonly (number | undefined)[];

/** The E-values of a receipt's search. */
export type Rejudge = (
  receiptId: string,
  receipt: AlignedReceipt,
  targetSpace: TargetSpace,
  engine: SearchEngine,
  signal: AbortSignal,
) => Promise<ExpectedFalseHits>;

/**
 * Receipts hold integers only, so the search is run again and believed where it finds the very same result; what the
 * last ones gave is remembered.
 * Range   none where the search asked for no significance, the release had another calibration or none, or the
 *         encoder gives other tokens on this machine
 * Errors  Fault of encoder or kernels; the signal's reason
 */
export function createRejudge(): Rejudge {
  const cache = new LRUCache<string, ExpectedFalseHits>({
    maxSize: SEARCH_CACHE_MAX_CANDIDATES,
    sizeCalculation: ({ length }) => length + 1,
  });
  return async (receiptId, receipt, targetSpace, engine, signal) => {
    const { calibration } = engine;
    if (calibration === undefined || receipt.parameters.significance === 'not_requested') return [];
    const key = `${receiptId} ${calibration.id}`;
    const known = cache.get(key);
    if (known !== undefined) return known;
    const { sequence, normalization_id: normalizationId } = receipt.query;
    const request = { ...receipt.parameters, query: { sequence, normalizationId }, targetSpace };
    const { candidates, resultSha256 } = await search(request, engine, signal);
    const isSame = resultSha256 === receipt.result_sha256;
    const expected = isSame ? candidates.map(expectedFalseHits) : [];
    cache.set(key, expected);
    return expected;
  };
}
