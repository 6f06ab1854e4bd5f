import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import type { WalkNull } from '../../src/propagation/null.js';
import { createWalk, type Walk } from '../../src/propagation/walk.js';
import { WALK_PARAMETERS } from '../../src/propagation/weights.js';
import { sampleDistinct, seededRandom } from '../../src/random.js';
import { reversed } from '../../src/significance/control.js';
import { createDomainTally, createTally } from '../calibration/tally.js';
import type { Bench } from '../main.js';
import { measureSensitivity, type Hit } from '../sensitivity/metrics.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { readTruths, type Truths } from '../tools/truth.js';
import {
  amongFirst,
  graphOf,
  searchPacks,
  sequencePacks,
  targetPacks,
  type HitList,
  type SearchPack,
} from './lists.js';
import { measureNull, rankWalk } from './ranked.js';
import { timeWalks } from './cost.js';
import { openWorld, type WorldKind } from './world.js';

/*
 * Measures propagation in the open world: the labelled domains are a release without homologs, each of them is a query,
 * and all of them are bridges and targets. The constants of walk and null come from half of the folds of dev ("tuned").
 * The largest listed E-value was chosen with the other half ("shown") in view, too. There are three rankings: by the
 * E-value of the direct comparison, by the weight of the walk, and by the joint E-value of both ("merged").
 *
 *   npm run bench -- propagation FOLDER [seconds] [every] [plain | whole | …] [ids.txt]
 *
 * The hit lists of all domains take a quarter of an hour on one core. They are made in parts: a call stops after so
 * many seconds, and the next one goes on. Until all lists are made, the world that is measured has the first domains
 * of the file. `every` 4 takes the domains of every fourth fold group and a fourth of the reversed domains: there are
 * fewer unrelated targets, and superfamilies stay whole. The fourth word names a source of homologs (relatives bench).
 * A file of query ids, one a line, asks for figures of these queries alone, too.
 */

const REVERSED_COUNT = 1_024;
/** Hits of one query in a ranking, enough for 10 false hits of each query and a hundred true ones. */
const RANKED = 500;

interface World {
  readonly targets: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly halfOf: ReadonlyMap<string, number>;
  readonly truths: Truths;
  readonly lists: readonly HitList[];
  readonly walk: Walk;
  readonly walkNull: WalkNull;
}

export const run: Bench = async ([
  folder = 'propagation',
  seconds = '280',
  every = '1',
  kind = 'plain',
  idsFile,
]) => {
  const untilMs = performance.now() + 1_000 * Number(seconds);
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const data = join(shared, 'data');
  const scope = join(data, 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log('Skipped: it needs the labelled domains.');
    return { skipped: 'no data' };
  }
  const all = readLabels(join(scope, 'labels.tsv'));
  const { list } = await readProteins(join(scope, 'domains.fasta'));
  const chosen = everyFoldGroup(all, Number(every));
  const targets = list.filter(({ id }) => chosen.has(all.get(id)!.foldGroup));
  const labels = new Map(targets.map(({ id }) => [id, all.get(id)!]));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  let encoder: Encoder | undefined;
  try {
    const members = await openWorld(appliance, targets, kind as WorldKind, folder, data);
    ({ encoder } = members.engine);
    const sequences = targets.map(({ sequence }) => sequence);
    const reversedCount = Math.ceil(REVERSED_COUNT / Number(every));
    const sample = sampleDistinct(targets.length, reversedCount, seededRandom(1));
    const decoys = Array.from(sample, (target) => reversed(sequences[target]));
    const name = kind === 'plain' ? every : `${kind}-${every}`;
    const search = (pack: SearchPack, count: number, part: string) =>
      searchPacks(pack, count, folder, `${part}-${name}`, untilMs);
    const allDecoys = await search(sequencePacks(members, decoys, 'none'), decoys.length, 'reversed');
    const lists = await search(targetPacks(members), targets.length, 'domains');
    const { length: count } = lists;
    console.log(`the world: the first ${count} of ${targets.length} domains`);
    // A null of other classes of domains than those of the world would not be its null.
    const decoyLists = allDecoys.filter((_, at) => sample[at] < count);
    if (count === 0 || decoyLists.length === 0) return { domains: count };
    const among = (list: HitList): HitList => amongFirst(list, count, targets.length);
    const first = targets.slice(0, count);
    const inWorld = new Map(first.map(({ id }) => [id, labels.get(id)!]));
    const known = lists.map(among);
    const graph = graphOf(known);
    const walk = createWalk(graph, WALK_PARAMETERS);
    const walkNull = measureNull(walk, decoyLists.map(among), kind !== 'plain');
    const chosen = idsFile === undefined ? [] : placesOf(idsFile, first);
    // The halves of any world are parts of those of all domains.
    const world = {
      targets: first,
      labels: inWorld,
      halfOf: halvesOf(all),
      truths: readTruths(),
      lists: known,
      walk,
      walkNull,
    };
    return {
      domains: count,
      reversed: decoyLists.length,
      edges: graph.targets.length,
      level: walkNull.level,
      halves: measureHalves(world),
      ...(chosen.length > 0 && { chosen: measureQueries('chosen', chosen, world) }),
      milliseconds: timeWalks(),
    };
  } finally {
    // Its threads would keep the process alive.
    await encoder?.close();
    await appliance.close();
  }
};

/** Returns every nth fold group in a random order. */
function everyFoldGroup(labels: ReadonlyMap<string, DomainLabel>, every: number): ReadonlySet<string> {
  const random = seededRandom(11);
  const groups = [...new Set([...labels.values()].map(({ foldGroup }) => foldGroup))].sort();
  const order = groups.map((group) => ({ group, key: random.share() })).sort((a, b) => a.key - b.key);
  return new Set(order.filter((_, at) => at % every === 0).map(({ group }) => group));
}

/** Divides dev's fold groups at random into two halves. Returns the half of each group. */
function halvesOf(labels: ReadonlyMap<string, DomainLabel>): ReadonlyMap<string, number> {
  const dev = [...labels.values()].filter(({ isDev }) => isDev);
  const groups = [...new Set(dev.map(({ foldGroup }) => foldGroup))].sort();
  const random = seededRandom(7);
  return new Map(groups.map((group) => [group, random.below(2)]));
}

/** Places of the domains whose ids a file has, one a line. Errors  those of the file system */
function placesOf(idsFile: string, targets: readonly BenchProtein[]): readonly number[] {
  const wanted = new Set(readFileSync(idsFile, 'utf8').split('\n'));
  return [...targets.keys()].filter((place) => wanted.has(targets[place].id));
}

/** Measures the queries of each half, and those of both together. */
function measureHalves(world: World): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    ['tuned', 'shown', 'all'].map((name, half) => {
      const queries = [...world.targets.keys()].filter((target) => {
        const { isDev, foldGroup } = world.labels.get(world.targets[target].id)!;
        return isDev && (name === 'all' || world.halfOf.get(foldGroup) === half);
      });
      return [name, measureQueries(name, queries, world)];
    }),
  );
}

/** Walks from each query. Returns the figures of each ranking, and false hits observed ÷ claimed. */
function measureQueries(
  name: string,
  queries: readonly number[],
  world: World,
): Readonly<Record<string, unknown>> {
  const { targets, labels, truths, lists } = world;
  const rankings: Record<string, Hit[]> = { direct: [], walk: [], merged: [] };
  const tally = createTally();
  const domains = createDomainTally(tally, truths);
  for (const query of queries) {
    const label = labels.get(targets[query].id)!;
    const add = (ranking: string, scores: ReadonlyMap<number, number>): void => {
      const best = [...scores].filter(([target]) => target !== query).sort((a, b) => a[1] - b[1]);
      for (const [target, score] of best.slice(0, RANKED)) {
        rankings[ranking].push({ queryId: targets[query].id, targetId: targets[target].id, score: -score });
      }
    };
    const observe = (strata: readonly string[], scores: ReadonlyMap<number, number>): void => {
      domains.expect(strata);
      for (const [target, log] of scores) {
        if (target !== query) domains.observe(label, labels.get(targets[target].id)!, log, strata);
      }
    };
    const { direct, walk: masses, propagated, merged } = rankWalk(query, lists[query], targets.length, world);
    add('direct', direct);
    add('walk', masses);
    add('merged', merged);
    observe(['direct', `direct, class ${label.superfamily[0]}`], direct);
    observe(['propagated'], propagated);
    observe(['merged'], merged);
  }
  console.log(`\n${name}: ${queries.length} queries`);
  const ids = new Set(queries.map((query) => targets[query].id));
  const figures = Object.fromEntries(
    Object.entries(rankings).map(([ranking, hits]) => [
      ranking,
      measureSensitivity(hits, ids, labels, truths.scope),
    ]),
  );
  for (const [ranking, values] of Object.entries(figures)) {
    const cells = Object.entries(values).map(([metric, value]) => `${metric} ${value.toFixed(4)}`);
    console.log(`${ranking.padEnd(8)} ${cells.join(', ')}`);
  }
  for (const line of tally.lines(targets.length)) console.log(line);
  return { queries: queries.length, figures, ratios: tally.ratios() };
}
