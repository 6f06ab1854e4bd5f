import { POOL_SHARE } from '../../recall/policy-card.js';
import { CODED_QUERIES, TABLE_SHIFT } from '../../kernels/codebook.js';
import type { CodedSums as CodebookSums, KernelOptions, QueryTokens } from '../../kernels/kernels.js';
import { assert } from '../../errors.js';
import type { Release, TargetSpace } from '../../release/release.js';
import type { RescoreCounts, SearchEngine } from '../search-types.js';
import { ascending, eligibleTargets, excessFloor, bestLocalBy } from './rescore-candidates.js';
import { TABLE_ROWS, sampleTokens } from './sampling.js';
import { greatest, type ValuesOf } from '../shortlist.js';

/**
 * The pool of each query, ascending: what the codes of the targets' residues leave of all that are eligible, in two
 * orders. The nearest have residues that are close to the query in the mean; the striking ones some that stand out.
 * Order   equal ones by target
 * Errors  Fault of the kernels; the signal's reason
 */
export async function sweepByCodebook(
  queries: readonly QueryTokens[],
  counts: RescoreCounts,
  targetSpace: Pick<TargetSpace, 'eligible' | 'searchedTargetCount'>,
  { codebook, release }: Pick<SearchEngine, 'codebook' | 'release'>,
  options: KernelOptions,
): Promise<readonly Uint32Array[]> {
  assert(codebook !== undefined, 'the coded policy answers only where there are codes');
  const { eligible, searchedTargetCount } = targetSpace;
  const most = codebookCountsOf(counts, searchedTargetCount);
  if (searchedTargetCount <= most.nearestCount) {
    const targets = eligibleTargets(targetSpace);
    return queries.map(() => targets);
  }
  const prefilterHits: Uint32Array[] = [];
  for (let start = 0; start < queries.length; start += CODED_QUERIES) {
    const pack = queries.slice(start, start + CODED_QUERIES);
    for (const sums of await lookUp(pack, eligible, { codebook, release }, options)) {
      prefilterHits.push(ascending(await bestByCodebook(sums, eligible, most, release)));
    }
  }
  return prefilterHits;
}

/** What the codes of each eligible target say of up to CODED_QUERIES queries. */
export function lookUp(
  queries: readonly QueryTokens[],
  eligible: Uint32Array | undefined,
  { codebook, release }: Required<Pick<SearchEngine, 'codebook' | 'release'>>,
  options: KernelOptions,
): Promise<readonly CodebookSums[]> {
  const sampled = queries.map((query) => sampleTokens(query, TABLE_ROWS));
  return codebook.sweep(sampled, eligible, excessFloor(release) >> TABLE_SHIFT, options);
}

/** How many of each order are in the pool: a share of the targets, and no fewer than there are finalists. */
export function codebookCountsOf(
  { nearestCount, localCount }: RescoreCounts,
  searchedTargetCount: number,
): RescoreCounts {
  const share = Math.ceil(POOL_SHARE * searchedTargetCount);
  return { nearestCount: Math.max(share, nearestCount), localCount: Math.max(share, localCount) };
}

/** The best targets of both orders, each order from its best. @param eligible  what the sums are of */
export async function bestByCodebook(
  { closeness, excess }: CodebookSums,
  eligible: Uint32Array | undefined,
  { nearestCount, localCount }: RescoreCounts,
  release: Pick<Release, 'targets'>,
): Promise<{ readonly nearest: readonly number[]; readonly local: readonly number[] }> {
  const targetAt = (place: number): number => (eligible === undefined ? place : eligible[place]);
  const { targets } = release;
  const meansOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1) {
      values[place - start] = closeness[place] / targets.length(targetAt(place));
    }
  };
  const places = await greatest(closeness.length, meansOf, nearestCount);
  return {
    nearest: places.map(targetAt),
    local: await bestLocalBy(chanceOf, excess, eligible, localCount, release),
  };
}

/**
 * By codes it is the target's residues that stand out, of which long targets have still more. By the fourth root of
 * the length the pool of six proteomes had 1.6 times as many residues and held less of what is evident; by the length
 * itself it held .93 of the nearest ten instead of .97.
 */
function chanceOf(length: number): number {
  const root = Math.sqrt(length);
  return root * Math.sqrt(root);
}
