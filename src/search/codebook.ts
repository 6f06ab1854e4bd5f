import { CODED_QUERIES, TABLE_SHIFT } from '../kernels/codebook.js';
import type { CodebookHits, KernelOptions } from '../kernels/kernels.js';
import { assert } from '../errors.js';
import type { TargetSpace } from '../release/release.js';
import { createJudge, NO_CONTROLS, type Judge } from './significance.js';
import { FIRST_STEP, measureInSteps } from './in-steps.js';
import { allHits, EMPTY_PARTIAL, excessFloor, prefilteredPlan, type QueryHits } from './prefiltered.js';
import { COARSE_ROWS, TABLE_ROWS, sampleTokens } from './selection/sampling.js';
import type {
  EncodedQuery,
  ResolvedPolicy,
  SearchEngine,
  SearchPlan,
  SearchSettings,
} from './search-types.js';

/**
 * Plans a search with the codebook prefilter: table look-ups of the centroid ids of all eligible targets. Centroid ids
 * of all targets take less memory than tokens of a few, so this scan is never divided into partitions.
 */
export function codebookPlan(policy: ResolvedPolicy, settings: SearchSettings): SearchPlan {
  const { targetSpace } = settings;
  const { sampled } = policy;
  assert(sampled?.poolCount !== undefined, 'the codebook policy has a pool');
  const { poolCount, nearestCount: mostCount } = sampled;
  return prefilteredPlan(policy, settings, {
    rowCount: COARSE_ROWS,
    unrankedCount: Math.min(FIRST_STEP, mostCount),
    partial: EMPTY_PARTIAL,
    async hitsOf(queries, _, { engine, options }) {
      return { hits: await sweepByCodebook(queries, poolCount, targetSpace, engine, options) };
    },
    measure: (query, hits, work) =>
      measureInSteps(query, hits, mostCount, uncontrolledJudge(targetSpace, work.engine), work),
  });
}

/** Returns a judge that gives E-values without controls, which are no larger than with them. */
export function uncontrolledJudge(targetSpace: TargetSpace, engine: SearchEngine): Judge {
  return createJudge({ significance: 'if_available', targetSpace, usedMaxEValue: NO_CONTROLS }, [], engine);
}

/** What a look-up reads of a query. */
type LookedUp = Pick<EncodedQuery, 'sequence' | 'tokens'>;

/** Prefilter hits of each query: the best targets by centroid ids and k-mers. */
async function sweepByCodebook(
  queries: readonly LookedUp[],
  poolCount: number,
  targetSpace: Pick<TargetSpace, 'eligible' | 'searchedTargetCount'>,
  { codebook, release }: Pick<SearchEngine, 'codebook' | 'release'>,
  options: KernelOptions,
): Promise<readonly QueryHits[]> {
  assert(codebook !== undefined, 'the codebook prefilter needs a codebook');
  const { eligible, searchedTargetCount } = targetSpace;
  if (searchedTargetCount <= poolCount) return allHits(queries.length, targetSpace);
  const hits: QueryHits[] = [];
  for (let start = 0; start < queries.length; start += CODED_QUERIES) {
    const batch = queries.slice(start, start + CODED_QUERIES);
    hits.push(...(await lookUp(batch, eligible, poolCount, { codebook, release }, options)));
  }
  return hits;
}

/**
 * Targets with the best coarse scores of at most CODED_QUERIES queries, by look-up of centroid ids and k-mers.
 * Shape   one value per query
 * Unit    as of `CodebookHits`
 * Range   at most `count` targets each
 * Errors  Fault of the kernels; the signal's reason
 * @param eligible  target indices, ascending; undefined for all
 */
export function lookUp(
  queries: readonly LookedUp[],
  eligible: Uint32Array | undefined,
  count: number,
  { codebook, release }: Required<Pick<SearchEngine, 'codebook' | 'release'>>,
  options: KernelOptions,
): Promise<readonly CodebookHits[]> {
  const sampled = {
    queries: queries.map(({ tokens }) => sampleTokens(tokens, TABLE_ROWS)),
    sequences: queries.map(({ sequence }) => sequence),
  };
  return codebook.hits(sampled, eligible, excessFloor(release) >> TABLE_SHIFT, count, options);
}
