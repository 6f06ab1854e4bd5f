import { CODED_QUERIES, TABLE_SHIFT } from '../kernels/codebook.js';
import type { CodebookSums, KernelOptions } from '../kernels/kernels.js';
import { assert } from '../errors.js';
import type { Release, TargetSpace } from '../release/release.js';
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
import { greatest, tailRanks, type ValuesOf } from './selection/shortlist.js';

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
    for (const sums of await lookUp(batch, eligible, { codebook, release }, options)) {
      hits.push(hitsOf(await bestByCodebook(sums, eligible, poolCount, release)));
    }
  }
  return hits;
}

/** A target of the pool, and its k-mer score above chance. */
export interface PooledTarget {
  readonly target: number;
  readonly kmers: number;
}

/** Returns the first targets of a pool as hits, by ascending target. */
export function hitsOf(pool: readonly PooledTarget[]): Required<QueryHits> {
  const ascending = [...pool].sort((a, b) => a.target - b.target);
  return {
    targets: Uint32Array.from(ascending, ({ target }) => target),
    kmers: Uint32Array.from(ascending, ({ kmers }) => kmers),
  };
}

/** What a look-up reads of a query. */
type LookedUp = Pick<EncodedQuery, 'sequence' | 'tokens'>;

/**
 * Coarse scores of every eligible target for at most CODED_QUERIES queries, by look-up of centroid ids and k-mers.
 * Shape   one value per query; its arrays have one element per eligible target
 * Unit    as of `CodebookSums`
 * Range   0 and more
 * Errors  Fault of the kernels; the signal's reason
 * @param eligible  target indices, ascending; undefined for all
 */
export function lookUp(
  queries: readonly LookedUp[],
  eligible: Uint32Array | undefined,
  { codebook, release }: Required<Pick<SearchEngine, 'codebook' | 'release'>>,
  options: KernelOptions,
): Promise<readonly CodebookSums[]> {
  const sampled = queries.map(({ tokens }) => sampleTokens(tokens, TABLE_ROWS));
  const sequences = queries.map(({ sequence }) => sequence);
  return codebook.sweep(sampled, sequences, eligible, excessFloor(release) >> TABLE_SHIFT, options);
}

/**
 * Ungapped BLOSUM62 score up to which k-mers count nothing. Of targets with E > 10, fewer than one in a thousand exceed
 * it. With a lower one, the prefilter hits had fewer of the nearest targets.
 */
const CHANCE_KMERS = 52;

/**
 * Returns the targets with the least product of three ranks: by excess, by votes for one band of diagonals, and by
 * k-mers. The excess finds what is similar everywhere, the votes what is similar in one stretch, the k-mers what has
 * similar amino acids. The product adds the logarithms of three tails: what is rare in all orders comes first. Targets
 * without a score above chance share the last rank by k-mers, so that the two other ranks order them.
 *
 * Excess and votes are divided by what a target of that length has by chance, up to a factor. A long target has more
 * bands, of which the best one counts. The two exponents, ½ and ¼, were measured together. With ¾ and 0, the prefilter
 * hits had fewer of the nearest targets.
 * Shape   sums: one element per eligible target
 * Unit    target indices, half bits
 * Range   at most `count`, best first, equal ones ascending; a target without excess, votes and k-mers is left out
 * Errors  none
 * @param eligible  targets of the sums, ascending; undefined for all
 */
export async function bestByCodebook(
  { excess, votes, kmers }: CodebookSums,
  eligible: Uint32Array | undefined,
  count: number,
  { targets }: Pick<Release, 'targets'>,
): Promise<readonly PooledTarget[]> {
  const targetAt = (place: number): number => (eligible === undefined ? place : eligible[place]);
  const kmersAt = (place: number): number => Math.max(0, kmers[place] - CHANCE_KMERS);
  const excessOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1)
      values[place - start] = excess[place] / Math.sqrt(targets.length(targetAt(place)));
  };
  const votesOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1)
      values[place - start] = votes[place] / Math.sqrt(Math.sqrt(targets.length(targetAt(place))));
  };
  const kmersOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1) values[place - start] = kmersAt(place);
  };
  const byExcess = await tailRanks(excess.length, excessOf);
  const byVotes = await tailRanks(votes.length, votesOf);
  const byKmers = await tailRanks(kmers.length, kmersOf);
  const productsOf: ValuesOf = (values, start, end) => {
    for (let place = start; place < end; place += 1)
      values[place - start] =
        -byExcess.tails[byExcess.places[place]] *
        byVotes.tails[byVotes.places[place]] *
        byKmers.tails[byKmers.places[place]];
  };
  const places = await greatest(excess.length, productsOf, count);
  return places
    .filter((place) => excess[place] > 0 || votes[place] > 0 || kmersAt(place) > 0)
    .map((place) => ({ target: targetAt(place), kmers: kmersAt(place) }));
}
