import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { openCalibration } from '../../src/significance/sidecar.js';
import { loadConfig } from '../../src/config.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import type { HomologFinder } from '../../src/homologs/finder.js';
import type { BuildHomologs } from '../../src/build-release/build-options.js';
import { buildRelease } from '../../src/build-release/release.js';
import { filesInput } from '../../src/build-release/sources/input-files.js';
import { mmseqsVersion } from '../../src/find-homologs/mmseqs-process.js';
import { openRelease } from '../../src/release/open.js';
import { loadedRelease, openMeasuringEngine, withEvidence } from '../../src/engine/open-engine.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { searchMany } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import type { Bench } from '../main.js';
import { createDomainTally, createTally, curatedName, type DomainTally } from '../calibration/tally.js';
import { measureSensitivity, type Hit } from '../sensitivity/metrics.js';
import { candidateScores, logEValueOf } from '../tools/candidate-scores.js';
import { calibrateBench, openCalibrated } from '../tools/calibrated-database.js';
import { benchHomologs, ownHomologs } from '../tools/homologs.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, spaced, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { hasNatural } from '../tools/natural.js';
import { readTruths, type Truths } from '../tools/truth.js';
import { HOMOLOG_SOURCE_KINDS, writeHomologSource, type HomologSourceKind } from '../tools/homolog-source.js';
import { byPairHomologs, byQueryHomologs, homologsBin } from './breakdown.js';

/*
 * Measures what homologs of the proteins add to sensitivity and accuracy. The labelled domains are searched against
 * themselves, with homologs from one of several sources. They come from mmseqs in two rounds (tools/homolog-source.ts),
 * from our own search among the domains (`self`), or there are none (`plain`). Queries get homologs as on the server.
 * Each figure is given for both truths of tools/truth.ts.
 *
 *   npm run bench -- relatives [queries, evenly spaced, or "all"] [kinds, with commas between] [folder to keep] [every]
 *                              [dev | train]
 *
 * Queries are dev domains. Constants of the null are chosen with training domains as queries. `every` 4 takes every
 * fourth domain, for a small database. A kind takes half an hour on two cores. Files in the folder are reused.
 */

/** Queries per batch. mmseqs reads its index for each batch. */
const CHUNK = 500;
/** Hits of a query that sensitivity counts: the nearest by MaxSim. E-values are judged for every target. */
const CANDIDATES = 1_000;

/** Source of homologs. */
type Kind = HomologSourceKind | 'self' | 'plain';

interface Session {
  readonly appliance: Appliance;
  readonly targets: readonly BenchProtein[];
  readonly queries: readonly BenchProtein[];
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly truths: Truths;
  readonly data: string;
  readonly folder: string;
  /** Encoders to close at the end: their threads would keep the process alive. */
  readonly encoders: Set<Encoder>;
}

export const run: Bench = async ([
  count = 'all',
  kinds = [...HOMOLOG_SOURCE_KINDS, 'self'].join(','),
  folderOption,
  every = '1',
  split = 'dev',
]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const data = join(shared, 'data');
  const scope = join(data, 'scope40');
  const missing = !existsSync(join(scope, 'labels.tsv')) || !(await hasNatural(join(data, 'natural')));
  if (missing || (await mmseqsVersion()) === undefined) {
    console.log(
      'Skipped: it needs the labelled domains, the natural sequences, xz and mmseqs (apt-get install mmseqs2).',
    );
    return { skipped: 'no data or no mmseqs' };
  }
  const all = readLabels(join(scope, 'labels.tsv'));
  const { list } = await readProteins(join(scope, 'domains.fasta'));
  const targets = list.filter((_, index) => index % Number(every) === 0);
  // Domains outside the targets must not count as missed.
  const labels = new Map(targets.map(({ id }) => [id, all.get(id)!]));
  const ofSplit = targets.filter(({ id }) => labels.get(id)!.isDev === (split === 'dev'));
  const queries = spaced(ofSplit, count === 'all' ? ofSplit.length : Number(count));
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-relatives-')));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  const encoders = new Set<Encoder>();
  const truths = readTruths();
  const session: Session = { appliance, targets, queries, labels, truths, data, folder, encoders };
  try {
    console.log(
      `${queries.length} queries, ${targets.length} targets, the best ${CANDIDATES} by MaxSim of each`,
    );
    const rows: Record<string, unknown> = {};
    for (const kind of kinds.split(',')) rows[kind] = await measureKind(kind as Kind, session);
    return { queries: queries.length, targets: targets.length, rows };
  } finally {
    for (const encoder of encoders) await encoder.close();
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

async function measureKind(kind: Kind, session: Session): Promise<unknown> {
  const times: Record<string, number> = {};
  const timed = async <Result>(step: string, work: () => Promise<Result>): Promise<Result> => {
    const startedMs = performance.now();
    const result = await work();
    times[step] = Math.round((performance.now() - startedMs) / 1000);
    return result;
  };
  const { engine, relatives: homologs } = await openKind(kind, session, timed);
  const { labels, truths } = session;
  const tally = createTally();
  const domains = createDomainTally(tally, truths);
  const rankings = await timed('search', () => measureRankings(engine, session, homologs, domains));
  const figuresByRanking: Record<string, unknown> = {};
  const queryIds = new Set(session.queries.map(({ id }) => id));
  const best = rankings['E-value'] ?? rankings.affine;
  for (const [ranking, hits] of Object.entries(rankings)) {
    for (const truth of [truths.scope, truths.curated]) {
      const name = truth === truths.scope ? ranking : curatedName(ranking);
      const figures = measureSensitivity(hits, queryIds, labels, truth);
      figuresByRanking[name] = figures;
      console.log(
        `${kind}, ${name}: ${Object.entries(figures)
          .map(([metric, value]) => `${metric} ${value.toFixed(4)}`)
          .join(', ')}`,
      );
    }
  }
  const ofQueries = byQueryHomologs(best, queryIds, labels, homologs, truths);
  const ofPairs = byPairHomologs(best, queryIds, labels, homologs, truths);
  console.log(`false hits observed ÷ claimed (claimed), by E-value and homologs of the query`);
  for (const line of tally.lines(session.targets.length)) console.log(line);
  console.table(ofQueries);
  console.table(ofPairs.map((cell) => ({ ...cell, share: cell.found / Math.max(1, cell.pairs) })));
  console.log(`seconds: ${JSON.stringify(times)}`);
  session.encoders.add(engine.encoder);
  return { found: figuresByRanking, honesty: tally.ratios(), ofQueries, ofPairs, seconds: times };
}

type Timed = <Result>(step: string, work: () => Promise<Result>) => Promise<Result>;

/** Builds and calibrates the domains with homologs from one source. Returns the engine and the homologs of each. */
async function openKind(
  kind: Kind,
  { appliance, targets, data, folder }: Session,
  timed: Timed,
): Promise<{ readonly engine: SearchEngine; readonly relatives: ReadonlyMap<string, number> }> {
  const { config, backend } = appliance;
  const { indexesFolder, threads } = config;
  const isOfThemselves = kind === 'self' || kind === 'plain';
  const plain = isOfThemselves ? await openCalibrated(appliance, targets, 'plain', folder) : undefined;
  if (plain !== undefined && kind === 'plain') return { engine: plain, relatives: new Map() };
  const encoder = await appliance.loadEncoder(config.encoder);
  const counts = join(folder, `${kind}.counts.jsonl`);
  const builder =
    plain === undefined
      ? await benchHomologs(appliance, encoder, kind, async () => {
          const path = join(folder, `${kind}.background.fasta`);
          await timed('background', () => writeHomologSource(data, kind as HomologSourceKind, path));
          return path;
        })
      : ownHomologs(appliance, encoder, plain);
  const buildHomologs: BuildHomologs = { ...builder, finder: countingFinder(builder.finder, counts) };
  const fasta = join(folder, 'domains.fasta');
  await writeFasta(fasta, targets);
  const input = await filesInput({ proteins: [fasta] });
  const built = await timed('build', () =>
    buildRelease({ indexesFolder, slug: kind, input, encoder, buildHomologs }),
  );
  const release = await openRelease(built.release.directory);
  const identity = { id: release.id, targetCount: release.targets.count };
  const { store } = await openMeasuringEngine({ release, encoder, backend, threads });
  const options = { release, backend, store, encoder, threads };
  if ((await openCalibration(release.directory, identity)) === undefined)
    await timed('calibrate', () => calibrateBench(appliance, options));
  const openSource = async (id: string): Promise<SearchEngine> => plain ?? appliance.engines.open(id);
  const homologSources = { indexesFolder, threads, openEngine: openSource };
  const loaded = loadedRelease({ release, encoder, homologSources });
  return {
    engine: await withEvidence({ ...options, ...loaded }, release.directory),
    relatives: readCounts(counts, targets),
  };
}

/** Wraps a finder to append the number of homologs of each protein to a file, which later runs read. */
function countingFinder(finder: HomologFinder, path: string): HomologFinder {
  return {
    batchProteins: finder.batchProteins,
    async find(proteins, options) {
      const homologSets = await finder.find(proteins, options);
      const lines = homologSets.map(({ sequence, homologs }) => JSON.stringify([sequence, homologs.length]));
      appendFileSync(path, `${lines.join('\n')}\n`);
      return homologSets;
    },
  };
}

function readCounts(path: string, targets: readonly BenchProtein[]): ReadonlyMap<string, number> {
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const counts = new Map(lines.map((line) => JSON.parse(line) as [string, number]));
  return new Map(targets.map(({ id, sequence }) => [id, counts.get(sequence) ?? 0]));
}

/** Searches with the homologs that the server would use. Returns the hits of each ranking and tallies false hits. */
async function measureRankings(
  engine: SearchEngine,
  { queries, labels }: Session,
  homologs: ReadonlyMap<string, number>,
  domains: DomainTally,
): Promise<Readonly<Record<string, readonly Hit[]>>> {
  const scores = {
    MaxSim: candidateScores.maxsim,
    affine: candidateScores.affine,
    'E-value': candidateScores.evalue,
  };
  const hits: Record<string, Hit[]> = {};
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: engine.release.targets.count,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: engine.calibration === undefined ? 'not_requested' : 'if_available',
  } as const;
  for (let start = 0; start < queries.length; start += CHUNK) {
    const chunk = queries.slice(start, start + CHUNK);
    const batch = chunk.map(({ sequence }) => ({ sequence, normalizationId: NORMALIZATION_ID }));
    for (const [index, { candidates }] of (await searchMany(batch, settings, engine)).entries()) {
      const { id } = chunk[index];
      const strata = ['all', homologsBin(homologs.get(id) ?? 0)];
      domains.expect(strata);
      for (const [rank, candidate] of candidates.entries()) {
        const targetId = engine.release.targets.id(candidate.targetIndex);
        domains.observe(labels.get(id)!, labels.get(targetId)!, logEValueOf(candidate), strata);
        if (rank >= CANDIDATES) continue;
        for (const [ranking, scoreOf] of Object.entries(scores)) {
          const score = scoreOf(candidate);
          if (score !== undefined) (hits[ranking] ??= []).push({ queryId: id, targetId, score });
        }
      }
    }
  }
  return hits;
}
