import type { ApplianceConfig } from '../../src/config.js';
import { mergeRounds } from '../../src/find-homologs/rounds.js';
import { homologOf } from '../../src/find-homologs/search.js';
import { openHomologRows, type SourceQuery } from '../../src/find-homologs/source-rows.js';
import type { FoundHomolog } from '../../src/homologs/homolog-set.js';
import type { SearchEngine, SearchResult } from '../../src/search/search-types.js';
import { childrenSeconds, type Rules } from './mmseqs.js';

/** Rows of a homolog source for each query, and the processor time of one query. Unit: s */
interface SourceRows {
  readonly homologs: readonly (readonly FoundHomolog[])[];
  readonly seconds: number;
}

/** Lists the rows that a homolog source has for each query. Each query is searched alone, as by the interface. */
export async function listFromSource(
  config: Pick<ApplianceConfig, 'indexesFolder' | 'threads'>,
  source: string,
  queries: readonly SourceQuery[],
  { maxEvalue: maxEValue, minCoverage, maxSequences }: Omit<Rules, 'rounds'>,
): Promise<SourceRows> {
  const list = await openHomologRows(config, source, { maxEValue, minCoverage });
  const before = childrenSeconds();
  const homologs: (readonly FoundHomolog[])[] = [];
  for (const query of queries) homologs.push(await list(query, maxSequences));
  return { homologs, seconds: (childrenSeconds() - before) / queries.length };
}

/** Homologs of a query in all rounds, from which the profiles of a homolog source begin. */
export function foundInRounds(
  results: readonly SearchResult[],
  maxEvalue: number,
  { release }: Pick<SearchEngine, 'release'>,
): readonly FoundHomolog[] {
  return mergeRounds(results, maxEvalue).candidates.flatMap(
    (candidate) => homologOf(candidate, release) ?? [],
  );
}
