import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { SearchEngine, SearchSettings } from '../../src/search/search-types.js';

/** Settings of a search of the whole release that aligns what can be a row. */
export function roundSettings({ release }: SearchEngine, limit: number, maxEValue: number): SearchSettings {
  return {
    targetSpace: unfilteredSpace(release),
    limit,
    evidence: 'pairwise_sequence_alignment',
    alignedMaxEValue: maxEValue,
    usedMaxEValue: maxEValue,
    guarantee: 'approximate',
    significance: 'if_available',
  };
}
