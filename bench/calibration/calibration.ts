import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { seededRandom, sampleDistinct } from '../../src/random.js';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { compileFilter } from '../../src/release/filter/filter.js';
import { compileTargetSpace, unfilteredSpace } from '../../src/release/filter/target-space.js';
import type { TargetSpace } from '../../src/release/release.js';
import { searchMany } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { candidateScores, logEValueOf } from '../tools/candidate-scores.js';
import { membraneGroup } from '../tools/membrane.js';
import { quartileOf, readLabels, windowEntropy, type DomainLabel } from '../tools/labels.js';
import { isInstalled, PEERS } from '../tools/homology-peers.js';
import { benchProteins } from './proteins.js';
import { createFalsePairs, type FalsePairs } from './false-pairs.js';
import { benchSizes } from './sizes.js';
import { benchDecoys, decoysOf, eachResult, type Decoys } from './decoys.js';
import {
  createDomainTally,
  createRanking,
  createTally,
  THRESHOLDS,
  type DomainTally,
  type Ranking,
  type Tally,
} from './tally.js';
import type { Bench } from '../main.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { median } from '../tools/statistics.js';
import { readTruths, type Truths } from '../tools/truth.js';

/*
 * Measures how accurate E-values are on real proteins: observed false hits against claimed ones. The queries are
 * domains of folds that the encoder was not trained on; the targets are all domains. The calibration does not use the
 * labels.
 *
 *   npm run bench -- calibration [queries] [folder to keep databases in]
 *   npm run bench -- calibration --decoys [queries] [targets] [folder]      whole proteins (decoys.ts)
 *   npm run bench -- calibration --proteins [queries per band] [targets] [folder] [homologs]   (proteins.ts)
 *   npm run bench -- calibration --sizes [folder] [sizes] [draws] [queries]         (sizes.ts)
 *
 * Each figure is given for both truths of tools/truth.ts: SCOPe as it is, and curated. The best false pairs of SCOPe
 * that the curated truth does not leave out are printed for inspection.
 */

const DECOY_QUERIES = 200;
const TIMED_QUERIES = 20;
const FRACTIONS: readonly number[] = [4, 16, 64];
/** Number of best false pairs in the printed list. */
const LISTED_PAIRS = 60;
const FILTER = { op: 'lte', field: 'length', value: '150' };

interface Session {
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly truths: Truths;
  readonly tally: Tally;
  readonly domains: DomainTally;
  readonly falsePairs: FalsePairs;
}

export const run: Bench = async (options) => {
  if (options[0] === '--decoys') return runDecoys(options.slice(1));
  if (options[0] === '--proteins') return runProteins(options.slice(1));
  if (options[0] === '--sizes') return runSizes(options.slice(1));
  const [queryCount = '300', folderOption] = options;
  const shared = sharedFolder();
  const labels = readLabels(join(shared, 'data', 'scope40', 'labels.tsv'));
  const { list } = await readProteins(join(shared, 'data', 'scope40', 'domains.fasta'));
  return withAppliance(folderOption, async (appliance, folder) => {
    const [truths, tally] = [readTruths(), createTally()];
    const domains = createDomainTally(tally, truths);
    const session: Session = { labels, truths, tally, domains, falsePairs: createFalsePairs() };
    const dev = list.filter(({ id }) => labels.get(id)?.isDev);
    const chosen = sampleDistinct(dev.length, Number(queryCount), seededRandom(1));
    const queries = Array.from(chosen, (index) => dev[index]);
    const engine = await openCalibrated(appliance, list, 'all', folder);
    const results = await tallyWhole(queries, engine, session);
    report(session.tally, results, list.length);
    console.log(`\nThe best false pairs: E-value, number of pairs of these superfamilies, best pair`);
    for (const line of session.falsePairs.lines(labels, LISTED_PAIRS)) console.log(line);
    const decoys = decoysOf(queries.slice(0, DECOY_QUERIES));
    await tallyDecoys(decoys, engine, session);
    await tallyVariants(queries, list, engine, appliance, folder, session);
    await tallyPeers({ queries, decoys, list, folder, trueCount: results.trueCount }, session);
    return report(session.tally, results, list.length);
  });
};

async function runDecoys([
  queryCount = '300',
  targetCount = '4000',
  folderOption,
]: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const counts = { queryCount: Number(queryCount), targetCount: Number(targetCount) };
  const fasta = join(sharedFolder(), 'data', 'uniprot-sample.fasta.gz');
  return withAppliance(folderOption, (appliance, folder) => benchDecoys(appliance, folder, fasta, counts));
}

async function runProteins([
  bandCount = '400',
  targetCount = '4000',
  folderOption,
  kind = 'plain',
]: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const counts = { bandCount: Number(bandCount), targetCount: Number(targetCount) };
  const data = join(sharedFolder(), 'data');
  const labels = readLabels(join(data, 'scope40', 'labels.tsv'));
  const { list: domains } = await readProteins(join(data, 'scope40', 'domains.fasta'));
  const fasta = join(data, 'uniprot-sample.fasta.gz');
  return withAppliance(folderOption, (appliance, folder) =>
    benchProteins(
      appliance,
      folder,
      fasta,
      { domains, labels },
      { ...counts, withHomologs: kind === 'homologs', data },
    ),
  );
}

async function runSizes([
  folderOption,
  sizes = '100,1500,6000,27915',
  drawCount = '10',
  queryCount = '300',
]: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const data = join(sharedFolder(), 'data');
  const { list: domains } = await readProteins(join(data, 'scope40', 'domains.fasta'));
  return withAppliance(folderOption, (appliance, folder) =>
    benchSizes(appliance, folder, {
      fasta: join(data, 'uniprot-sample.fasta.gz'),
      domains,
      labels: readLabels(join(data, 'scope40', 'labels.tsv')),
      sizes: sizes.split(',').map(Number),
      drawCount: Number(drawCount),
      queryCount: Number(queryCount),
    }),
  );
}

function sharedFolder(): string {
  return process.env.GLOAMING_SHARED ?? join(packageFolder(), '..', 'shared');
}

function packageFolder(): string {
  return loadConfig(process.env).packageFolder;
}

/** Runs work with an appliance in this folder, or in a temporary folder that is removed afterwards. */
async function withAppliance<Result>(
  folderOption: string | undefined,
  work: (appliance: Appliance, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-calibration-')));
  await mkdir(folder, { recursive: true });
  const appliance = await openAppliance(
    loadConfig({ ...process.env, GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') }),
  );
  try {
    return await work(appliance, folder);
  } finally {
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
}

/** Scores that rank pairs, in the order of the report. */
const RANKED_BY = ['evalue', 'affine', 'normalized', 'maxsim'] as const;

interface DomainResults {
  /** By truth and score. */
  readonly rankings: Readonly<Record<string, Ranking>>;
  readonly trueCount: number;
  readonly trueAtHundredth: number;
  readonly coverage: number;
  readonly judgeUs: number;
}

/** Searches all targets without a cut-off, so that every false hit is counted. */
async function tallyWhole(
  queries: readonly BenchProtein[],
  engine: SearchEngine,
  { labels, truths, domains, falsePairs }: Session,
): Promise<DomainResults> {
  const { targets } = engine.release;
  const queryLengths = ascending(queries.map(({ sequence }) => sequence.length));
  const targetLengths = ascending(Array.from({ length: targets.count }, (_, index) => targets.length(index)));
  const entropies = ascending(queries.map(({ sequence }) => windowEntropy(sequence)));
  const lowest = entropies[Math.floor(entropies.length / 10)];
  const rankings: Record<string, Ranking> = {};
  for (const { name } of Object.values(truths)) {
    for (const score of RANKED_BY) rankings[rankingName(score, name)] = createRanking(queries.length);
  }
  let [trueCount, trueAtHundredth, judged, returned] = [0, 0, 0, 0];
  await eachResult(queries, unfilteredSpace(engine.release), engine, (query, candidates) => {
    const label = labels.get(query.id)!;
    const strata = [
      'all',
      `query class ${label.structuralClass}`,
      `query with ${membraneGroup(query.sequence)}`,
      `query length quartile ${quartileOf(query.sequence.length, queryLengths) + 1}`,
      ...(windowEntropy(query.sequence) <= lowest ? ['low-complexity query'] : []),
    ];
    const quartiles = [1, 2, 3, 4].map((quartile) => `target length quartile ${quartile}`);
    domains.expect(strata);
    domains.expect(quartiles, 0.25);
    for (const candidate of candidates) {
      const id = targets.id(candidate.targetIndex);
      if (id === query.id) continue;
      const log = logEValueOf(candidate);
      returned += 1;
      if (log !== undefined) judged += 1;
      const target = labels.get(id)!;
      const isTrue = truths.scope.kindOf(label, target) === 'true';
      if (isTrue) trueCount += 1;
      if (isTrue && log !== undefined && log <= Math.log(0.01)) trueAtHundredth += 1;
      for (const truth of Object.values(truths)) {
        if (truth.kindOf(label, target) === 'left out') continue;
        // A pair without an E-value ranks behind all others.
        for (const score of RANKED_BY) {
          const value = candidateScores[score](candidate) ?? -Infinity;
          rankings[rankingName(score, truth.name)].add(value, isTrue);
        }
      }
      const quartile = quartiles[quartileOf(targets.length(candidate.targetIndex), targetLengths)];
      domains.observe(label, target, log, [...strata, quartile]);
      const isFalse = truths.curated.kindOf(label, target) === 'false';
      if (isFalse && log !== undefined) falsePairs.add({ query: query.id, target: id, logEValue: log });
    }
  });
  const judgeUs = await timeJudge(queries, engine);
  return { rankings, trueCount, trueAtHundredth, coverage: judged / returned, judgeUs };
}

/** Returns the name of a ranking by a score under a truth. */
function rankingName(score: string, truth: string): string {
  return `${score}, ${truth}`;
}

async function tallyDecoys(decoys: Decoys, engine: SearchEngine, { tally }: Session): Promise<void> {
  for (const [stratum, queries] of Object.entries(decoys)) {
    await eachResult(queries, unfilteredSpace(engine.release), engine, (_, candidates) => {
      tally.expect(stratum);
      for (const candidate of candidates) tally.observe(stratum, logEValueOf(candidate) ?? Infinity);
    });
  }
}

/** Tallies smaller databases, each with its own calibration, and the whole database under a filter. */
async function tallyVariants(
  queries: readonly BenchProtein[],
  list: readonly BenchProtein[],
  engine: SearchEngine,
  appliance: Appliance,
  folder: string,
  session: Session,
): Promise<void> {
  const { release } = engine;
  const filter = compileFilter(FILTER, release.fields, { place: ['filter'] });
  await tallyFalse('filter length <= 150', queries, compileTargetSpace(release, filter), engine, session);
  for (const fraction of FRACTIONS) {
    const part = list.filter((_, index) => index % fraction === 0);
    const small = await openCalibrated(appliance, part, `part-${fraction}`, folder);
    await tallyFalse(`database 1/${fraction}`, queries, unfilteredSpace(small.release), small, session);
  }
}

async function tallyFalse(
  stratum: string,
  queries: readonly BenchProtein[],
  space: TargetSpace,
  engine: SearchEngine,
  { labels, domains }: Session,
): Promise<void> {
  await eachResult(queries, space, engine, (query, candidates) => {
    domains.expect([stratum]);
    for (const candidate of candidates) {
      const target = labels.get(engine.release.targets.id(candidate.targetIndex))!;
      domains.observe(labels.get(query.id)!, target, logEValueOf(candidate), [stratum]);
    }
  });
}

interface PeerSearches {
  readonly queries: readonly BenchProtein[];
  readonly decoys: Decoys;
  readonly list: readonly BenchProtein[];
  readonly folder: string;
  readonly trueCount: number;
}

/** Tallies the E-values of other tools for the same queries, decoys and domains. */
async function tallyPeers(
  { queries, decoys, list, folder, trueCount }: PeerSearches,
  { labels, truths, tally, domains }: Session,
): Promise<void> {
  for (const peer of PEERS) {
    if (!(await isInstalled(peer))) {
      console.log(`${peer.name} is not installed here and was left out.`);
      continue;
    }
    for (let query = 0; query < queries.length; query += 1) domains.expect([peer.name]);
    const ranked = Object.values(truths).map((truth) => ({ truth, ranking: createRanking(queries.length) }));
    for (const { queryId, targetId, eValue } of await peer.search(queries, list, folder, THRESHOLDS[0])) {
      if (queryId === targetId) continue;
      const [query, target] = [labels.get(queryId)!, labels.get(targetId)!];
      for (const { truth, ranking } of ranked) {
        const kind = truth.kindOf(query, target);
        if (kind !== 'left out') ranking.add(-eValue, kind === 'true');
      }
      domains.observe(query, target, Math.log(eValue), [peer.name]);
    }
    const shares = ranked.map(
      ({ truth, ranking }) => `${ranking.sensitivity(trueCount).toFixed(4)} (${truth.name})`,
    );
    console.log(`${peer.name}: SEPQ1 by its E-value ${shares.join(', ')}`);
    for (const [kind, changed] of Object.entries(decoys)) {
      const stratum = `${peer.name}, ${kind}`;
      for (let query = 0; query < changed.length; query += 1) tally.expect(stratum);
      const hits = await peer.search(changed, list, folder, THRESHOLDS[0]);
      for (const { eValue } of hits) tally.observe(stratum, Math.log(eValue));
    }
  }
}

/** Measures the time that significance adds to a search with 1,000 candidates. Unit: µs, median difference. */
async function timeJudge(queries: readonly BenchProtein[], engine: SearchEngine): Promise<number> {
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: 1_000,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
  } as const;
  const differences: number[] = [];
  for (const { sequence } of queries.slice(0, TIMED_QUERIES)) {
    const batch = [{ sequence, normalizationId: 'gloaming-protein/1' }];
    const time = async (significance: 'if_available' | 'not_requested'): Promise<number> => {
      const startedMs = performance.now();
      await searchMany(batch, { ...settings, significance }, engine);
      return performance.now() - startedMs;
    };
    differences.push((await time('if_available')) - (await time('not_requested')));
  }
  return 1000 * median(differences);
}

function report(
  tally: Tally,
  results: DomainResults,
  targetCount: number,
): Readonly<Record<string, unknown>> {
  console.log(`\nFalse hits observed ÷ claimed (claimed), by E-value; ! marks a ratio outside the bounds:`);
  for (const line of tally.lines(targetCount)) console.log(line);
  const sensitivity = Object.fromEntries(
    Object.entries(results.rankings).map(([name, ranking]) => [name, ranking.sensitivity(results.trueCount)]),
  );
  const trueShare = results.trueAtHundredth / results.trueCount;
  console.log(
    `\nSEPQ1 by ${Object.entries(sensitivity)
      .map(([name, value]) => `${name} ${value.toFixed(4)}`)
      .join(', ')}`,
  );
  console.log(
    `Coverage ${(100 * results.coverage).toFixed(2)} %; true pairs at E <= 0.01: ${(100 * trueShare).toFixed(2)} %`,
  );
  console.log(`Significance of 1,000 candidates: ${results.judgeUs.toFixed(0)} us (median difference)`);
  const { all, ...strata } = tally.ratios();
  assert(all !== undefined, 'the whole database was searched');
  return {
    ratio: all,
    strata,
    coverage: results.coverage,
    true_at_hundredth: trueShare,
    sepq1: sensitivity,
    judge_us_1000: results.judgeUs,
  };
}

function ascending(values: readonly number[]): readonly number[] {
  return [...values].sort((a, b) => a - b);
}
