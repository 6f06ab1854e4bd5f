import type { Appliance } from '../../src/appliance.js';
import { qualifyRelease } from '../../src/measure-recall/qualify.js';
import { computeNeighbours } from '../../src/pipelines/neighbours/neighbours.js';
import { calibrateWalks } from '../../src/pipelines/walks.js';
import { walkHits } from '../../src/propagation/hits.js';
import { walkLogEValue } from '../../src/propagation/null.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { openPropagation } from '../../src/services/search/propagation.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { searchMany } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { jointLogEValues } from '../propagation/ranked.js';
import { logEValueOf } from '../tools/candidate-scores.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Hits of a query that its walk starts from, as many as of `gloaming search --propagation`. */
const CANDIDATES = 1_000;
const LARGEST_EVALUE = 10;
/** Queries that are searched at once. */
const CHUNK = 50;

/** Largest E-value of an evident hit. */
export const EVIDENT_E = 1e-3;

/** Ranked targets of one query. */
export interface Ranked {
  /** Best first. */
  readonly ids: readonly string[];
  /** Number of them with E ≤ 0.001, which are the first; absent if they are ranked by something else. */
  readonly evidentCount?: number;
}

/** Ranked targets of each query. */
export type Ranking = ReadonlyMap<string, Ranked>;

/**
 * Ranks the targets of a database by walks over its graph of neighbours: by weight, and by the joint E-value of walk
 * and direct comparison. Makes the graph by the fastest policy that qualifies, as `gloaming index neighbours` does, and
 * the null of walks. Hits are those of an exhaustive search.
 * @param slug  name of the database in the appliance
 */
export async function rankPropagated(
  engine: SearchEngine,
  slug: string,
  queries: readonly BenchProtein[],
  { config }: Appliance,
): Promise<ReadonlyMap<string, Ranking>> {
  const { release } = engine;
  await qualifyRelease({ engine }).catch((cause: Error) =>
    console.log(`No approximate policy: ${cause.message}`),
  );
  const before = process.cpuUsage();
  const { release: located } = await computeNeighbours(
    { database: slug, isFull: true },
    config,
    process.env,
    {},
  );
  const { user, system } = process.cpuUsage(before);
  await calibrateWalks({ config }, located);
  const { walk, walkNull, neighbours } = await openPropagation(engine);
  const seconds = ((user + system) / 1e6).toFixed(0);
  console.log(`${slug}: a graph of ${neighbours.graph.targets.length} pairs in ${seconds} s of CPU time`);
  const settings = {
    targetSpace: unfilteredSpace(release),
    limit: Math.min(CANDIDATES, release.targets.count),
    evidence: 'pairwise_sequence_alignment',
    significance: 'if_available',
    guarantee: 'exhaustive',
    alignedMaxEValue: LARGEST_EVALUE,
  } as const;
  const rankings = {
    walk: new Map<string, Ranked>(),
    merged: new Map<string, Ranked>(),
  };
  for (let start = 0; start < queries.length; start += CHUNK) {
    const chunk = queries.slice(start, start + CHUNK);
    const batch = chunk.map(({ sequence }) => ({ sequence, normalizationId: NORMALIZATION_ID }));
    for (const [index, { candidates }] of (await searchMany(batch, settings, engine)).entries()) {
      const { id } = chunk[index];
      const direct = new Map(candidates.map((hit) => [hit.targetIndex, logEValueOf(hit) ?? Infinity]));
      const reached = walk(walkHits(candidates));
      const walked = reached.map((each): [number, number] => [
        each.target,
        walkLogEValue(each, release.targets.count, walkNull),
      ]);
      const merged = jointLogEValues(direct, new Map(walked));
      const masses = new Map(reached.map(({ target, mass }) => [target, -mass]));
      rankings.walk.set(id, { ids: idsOf(masses, engine) });
      rankings.merged.set(id, { ids: idsOf(merged, engine), evidentCount: evidentCountOf(merged) });
    }
  }
  return new Map(Object.entries(rankings));
}

/** Targets that are listed, as many as hits. */
const LISTED_TARGETS = CANDIDATES;

/** Ids of targets by their score, the least first, equal ones by index. */
function idsOf(scores: ReadonlyMap<number, number>, { release }: SearchEngine): readonly string[] {
  const best = [...scores].sort((a, b) => a[1] - b[1] || a[0] - b[0]).slice(0, LISTED_TARGETS);
  return best.map(([target]) => release.targets.id(target));
}

/** Number of targets with E ≤ 0.001. */
function evidentCountOf(logEValues: ReadonlyMap<number, number>): number {
  return [...logEValues.values()].filter((log) => log <= Math.log(EVIDENT_E)).length;
}
