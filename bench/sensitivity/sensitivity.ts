import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { searchMany } from '../../src/search/search.js';
import type { Candidate, SearchEngine } from '../../src/search/search-types.js';
import { buildWithEncoder } from '../tools/database.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { isInstalled, MMSEQS, PEERS } from '../tools/homology-peers.js';
import { candidateScores } from '../tools/candidate-scores.js';
import type { Bench } from '../main.js';
import { readProteins, spaced, type BenchProtein } from '../tools/proteins.js';
import { readTruths, type Truths } from '../tools/truth.js';
import { measureSensitivity, type Hit, type Sensitivity } from './metrics.js';
import { randomEncoder } from './random-encoder.js';

/*
 * Measures how many remote homologs the appliance finds. The queries are domains of folds that the encoder was not
 * trained on; the targets are all domains. The metrics are those of evaluate.py in the shared data.
 *
 *   npm run bench -- sensitivity [queries, evenly spaced, or "all"] [folder to keep databases and hits in]
 *
 * Each ranking has a row for SCOPe's truth and one for the curated truth (tools/truth.ts).
 * The hits of each ranking are written to that folder in the format of evaluate.py.
 */

const CHUNK = 10;
/** Candidates per query, far more than a search returns inline. Targets behind them by MaxSim count as not found. */
const CANDIDATES = 1_000;
const YARDSTICK = 'baseline-1';
/** Largest E-value of each tool, as in the published baselines on these files. */
const LARGEST_E: Readonly<Record<string, number>> = { blastp: 100, phmmer: 100, mmseqs: 10_000 };

const RANKINGS: Readonly<Record<string, (candidate: Candidate) => number | undefined>> = {
  MaxSim: candidateScores.maxsim,
  affine: candidateScores.affine,
  'affine, normalised': candidateScores.normalized,
  'E-value': candidateScores.evalue,
};

interface Session {
  readonly targets: readonly BenchProtein[];
  readonly queries: readonly BenchProtein[];
  readonly queryIds: ReadonlySet<string>;
  readonly labels: ReadonlyMap<string, DomainLabel>;
  readonly truths: Truths;
  readonly folder: string;
  readonly rows: Record<string, Sensitivity>;
}

export const run: Bench = async ([count = 'all', folderOption]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log(`Skipped: no labelled domains at ${scope}.`);
    return { skipped: 'no labelled domains' };
  }
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list: targets } = await readProteins(join(scope, 'domains.fasta'));
  const queries = spaced(
    targets.filter(({ id }) => labels.get(id)!.isDev),
    count === 'all' ? targets.length : Number(count),
  );
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-sensitivity-')));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  const queryIds = new Set(queries.map(({ id }) => id));
  const session: Session = { targets, queries, queryIds, labels, truths: readTruths(), folder, rows: {} };
  try {
    console.log(
      `${queries.length} queries, ${targets.length} targets, the best ${CANDIDATES} by MaxSim of each`,
    );
    printHead();
    await measureEncoders(appliance, session);
    const skipped = await measurePeers(session);
    return {
      queries: queries.length,
      targets: targets.length,
      candidates: CANDIDATES,
      rows: session.rows,
      skipped,
    };
  } finally {
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

/** Measures the appliance's encoder with E-values, then the baseline encoder and random vectors without E-values. */
async function measureEncoders(appliance: Appliance, session: Session): Promise<void> {
  const { targets, folder } = session;
  const { encoder: id } = appliance.config;
  await measureEngine(id, await openCalibrated(appliance, targets, id, folder), session);
  const yardstick = await appliance.loadEncoder(YARDSTICK);
  if (id !== YARDSTICK) {
    await measureEngine(
      YARDSTICK,
      await buildWithEncoder(appliance, targets, YARDSTICK, folder, yardstick),
      session,
    );
  }
  const random = randomEncoder(yardstick);
  await measureEngine(
    'random',
    await buildWithEncoder(appliance, targets, 'random', folder, random),
    session,
  );
  await yardstick.close();
}

async function measureEngine(name: string, engine: SearchEngine, session: Session): Promise<void> {
  const hitsByRanking: Record<string, Hit[]> = Object.fromEntries(
    Object.keys(RANKINGS).map((ranking) => [ranking, []]),
  );
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: CANDIDATES,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: engine.calibration === undefined ? 'not_requested' : 'if_available',
  } as const;
  for (let start = 0; start < session.queries.length; start += CHUNK) {
    const chunk = session.queries.slice(start, start + CHUNK);
    const batch = chunk.map(({ sequence }) => ({ sequence, normalizationId: 'gloaming-protein/1' }));
    const results = await searchMany(batch, settings, engine);
    for (const [index, { candidates }] of results.entries()) {
      for (const candidate of candidates) {
        const pair = { queryId: chunk[index].id, targetId: engine.release.targets.id(candidate.targetIndex) };
        for (const [ranking, scoreOf] of Object.entries(RANKINGS)) {
          const score = scoreOf(candidate);
          if (score !== undefined) hitsByRanking[ranking].push({ ...pair, score });
        }
      }
    }
  }
  for (const [ranking, hits] of Object.entries(hitsByRanking)) {
    if (hits.length > 0) await measure(`${name}, ${ranking}`, hits, session);
  }
}

/** Measures the other tools. Returns the names of those that are not installed. */
async function measurePeers(session: Session): Promise<readonly string[]> {
  const skipped: string[] = [];
  for (const peer of [...PEERS, MMSEQS]) {
    if (!(await isInstalled(peer))) {
      console.log(`${peer.name.padEnd(NAME_WIDTH)}skipped: apt-get install ${peer.package}`);
      skipped.push(peer.name);
      continue;
    }
    const { queries, targets, folder } = session;
    const hits = await peer.search(queries, targets, folder, LARGEST_E[peer.name]);
    const scored = hits.map(({ queryId, targetId, eValue }) => ({ queryId, targetId, score: -eValue }));
    await measure(peer.name, scored, session);
  }
  return skipped;
}

async function measure(name: string, hits: readonly Hit[], session: Session): Promise<void> {
  for (const [kind, truth] of Object.entries(session.truths)) {
    const row = kind === 'scope' ? name : `${name}, curated`;
    const figures = measureSensitivity(hits, session.queryIds, session.labels, truth);
    session.rows[row] = figures;
    console.log(
      row.padEnd(NAME_WIDTH) + COLUMNS.map((column) => figures[column].toFixed(4).padStart(8)).join(''),
    );
  }
  const file = join(session.folder, `${name.replaceAll(/[^A-Za-z0-9-]+/g, '_')}.hits.tsv`);
  await writeFile(
    file,
    hits.map(({ queryId, targetId, score }) => `${queryId}\t${targetId}\t${score}\n`).join(''),
  );
}

const NAME_WIDTH = 44;
const COLUMNS = [
  ...['to1stFP_family', 'to1stFP_superfamily', 'to1stFP_fold', 'cR@1', 'cR@10', 'cR@100'],
  ...['sf2_SEPQ0.1', 'sf2_SEPQ1', 'sf2_SEPQ10', 'sf3_SEPQ0.1', 'sf3_SEPQ1', 'sf3_SEPQ10'],
];

function printHead(): void {
  const titles = ['family', 'superf.', 'fold', 'cR@1', 'cR@10', 'cR@100', 'sf2 .1', 'sf2 1', 'sf2 10'];
  const heads = [...titles, 'sf3 .1', 'sf3 1', 'sf3 10'];
  console.log(''.padEnd(NAME_WIDTH) + heads.map((head) => head.padStart(8)).join(''));
}
