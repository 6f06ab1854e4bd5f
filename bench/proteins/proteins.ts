import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { mmseqsVersion } from '../../src/find-homologs/mmseqs-process.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { searchMany } from '../../src/search/search.js';
import type { Candidate, Guarantee, SearchEngine } from '../../src/search/search-types.js';
import type { Bench } from '../main.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { candidateScores } from '../tools/candidate-scores.js';
import { openWithHomologs } from '../tools/homologs.js';
import { isInstalled, MMSEQS, PEERS, type Peer } from '../tools/homology-peers.js';
import { readLabels } from '../tools/labels.js';
import { hasNatural } from '../tools/natural.js';
import { readProteins, spaced, type BenchProtein } from '../tools/proteins.js';
import { qualifiedEngine } from '../tools/qualified.js';
import { labelledProteins, type LabelledProteins } from './labelled.js';
import { EVIDENT_E, rankPropagated, type Ranked, type Ranking } from './propagated.js';

/*
 * Measures whether domains are found in whole proteins. The queries are domains of folds that the encoder was not
 * trained on. The targets are natural proteins, half of which have such a domain (labelled.ts). The metrics are capped
 * recall at 10, and the share of the targets with such a domain that have E ≤ 0.001, for all policies, with and without
 * homologs, beside BLASTP and MMseqs2. `remote` leaves out the targets that mmseqs finds with the query domain at
 * E ≤ 1e-10.
 *
 * `plain-walk` and `relatives-walk` rank by propagation over the graph of neighbours of the same databases.
 *
 *   npm run bench -- proteins [queries, evenly spaced] [targets] [plain,relatives,plain-walk,…] [folder to keep]
 */

const DEPTH = 10;
const CHUNK = 50;
/** As many as a search with a cut-off lists. */
const CANDIDATES = 1_000;
const QUALIFYING_QUERIES = 100;
/** Largest E-value of a ranked hit. */
const LARGEST_E: Readonly<Record<string, number>> = { blastp: 100, mmseqs: 10_000 };
const RANKINGS: Readonly<Record<string, (candidate: Candidate) => number | undefined>> = {
  affine: candidateScores.affine,
  'E-value': candidateScores.evalue,
};

interface Recall {
  readonly all: number;
  readonly remote: number;
  /** Share of the targets with E ≤ 0.001, of all and of remote ones; absent without E-values. */
  readonly evident?: number;
  readonly evidentRemote?: number;
}

export const run: Bench = async ([
  queryCount = '500',
  targetCount = '4000',
  kinds = 'plain,relatives',
  folderOption,
]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const data = join(shared, 'data');
  const [scope, natural] = ['scope40', 'natural'].map((name) => join(data, name));
  const missing = !existsSync(join(scope, 'labels.tsv')) || !(await hasNatural(natural));
  if (missing || (await mmseqsVersion()) === undefined) {
    console.log(
      'Skipped: it needs the labelled domains, the natural sequences, xz and mmseqs (apt-get install mmseqs2).',
    );
    return { skipped: 'no data or no mmseqs' };
  }
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-proteins-')));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    const task = await readTask(scope, natural, {
      queryCount: Number(queryCount),
      targetCount: Number(targetCount),
    });
    const { queries, labelled } = task;
    const { targets, bySuperfamily } = labelled;
    console.log(
      `${queries.length} queries of ${bySuperfamily.size} superfamilies against ${targets.length} proteins; ` +
        `capped recall at ${DEPTH}: all, and remote; share with E ≤ ${EVIDENT_E}: all, and remote`,
    );
    const rows: Record<string, Recall> = {};
    const record = (name: string, ranking: Ranking): void => {
      rows[name] = recallOf(ranking, task);
      const { all, remote, evident, evidentRemote } = rows[name];
      const cells = [all, remote, evident, evidentRemote].map((share) => share?.toFixed(3) ?? '');
      console.log(`${name.padEnd(32)} ${cells.join(' ')}`);
    };
    for (const peer of [PEERS[0], MMSEQS]) {
      if (!(await isInstalled(peer))) console.log(`${peer.name}: skipped, it is not installed`);
      else record(peer.name, await rankByPeer(peer, queries, targets, folder));
    }
    for (const kind of kinds.split(',')) {
      const [slug, way] = kind.split('-');
      const engine = await ENGINES[slug as keyof typeof ENGINES](appliance, targets, { data, folder });
      if (way === 'walk') {
        for (const [by, ranking] of await rankPropagated(engine, slug, queries, appliance))
          record(`${slug}, propagation, ${by}`, ranking);
        continue;
      }
      for await (const { name, guarantee, engine: searching } of byAllPolicies(engine, slug, folder)) {
        for (const [by, ranking] of await rankByEngine(searching, guarantee, queries))
          record(`${name}, ${by}`, ranking);
      }
    }
    return { queries: queries.length, targets: targets.length, rows };
  } finally {
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

interface Task {
  readonly queries: readonly BenchProtein[];
  readonly labelled: LabelledProteins;
  readonly superfamilyOf: (id: string) => string;
}

/** Reads the task: dev domains whose superfamily is among the targets. */
async function readTask(
  scope: string,
  natural: string,
  { queryCount, targetCount }: { readonly queryCount: number; readonly targetCount: number },
): Promise<Task> {
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list: domains } = await readProteins(join(scope, 'domains.fasta'));
  const dev = domains.filter(({ id }) => labels.get(id)!.isDev);
  const labelled = await labelledProteins(natural, dev, labels, targetCount);
  const superfamilyOf = (id: string): string => labels.get(id)!.superfamily;
  const findable = dev.filter(({ id }) => labelled.bySuperfamily.has(superfamilyOf(id)));
  return { queries: spaced(findable, queryCount), labelled, superfamilyOf };
}

interface Searched {
  readonly name: string;
  readonly guarantee: Guarantee;
  readonly engine: SearchEngine;
}

interface Folders {
  readonly data: string;
  readonly folder: string;
}

const ENGINES = {
  plain: async (appliance: Appliance, targets: readonly BenchProtein[], { folder }: Folders) =>
    openCalibrated(appliance, targets, 'plain', folder),
  relatives: async (appliance: Appliance, targets: readonly BenchProtein[], { data, folder }: Folders) =>
    openWithHomologs(appliance, targets, {
      kind: 'whole',
      source: 'natural',
      slug: 'relatives',
      data,
      folder,
    }),
};

async function* byAllPolicies(engine: SearchEngine, kind: string, folder: string): AsyncGenerator<Searched> {
  yield { name: `${kind}, exhaustive`, guarantee: 'exhaustive', engine };
  for (const policy of ['sampled', 'coded'] as const) {
    const own = { queryCount: QUALIFYING_QUERIES, folder: join(folder, kind) };
    const qualified = await qualifiedEngine(engine, policy, own);
    yield { name: `${kind}, ${policy}`, guarantee: 'approximate', engine: qualified };
  }
}

async function rankByEngine(
  engine: SearchEngine,
  guarantee: Guarantee,
  queries: readonly BenchProtein[],
): Promise<ReadonlyMap<string, Ranking>> {
  const rankings = new Map(Object.keys(RANKINGS).map((by) => [by, new Map<string, Ranked>()]));
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    // At most the policy's own number of candidates: longer lists use a policy with more candidates.
    limit: Math.min(CANDIDATES, engine.qualification?.card.policy.nearest_count ?? CANDIDATES),
    evidence: 'candidate_measurement',
    significance: 'if_available',
    guarantee,
  } as const;
  for (let start = 0; start < queries.length; start += CHUNK) {
    const chunk = queries.slice(start, start + CHUNK);
    const batch = chunk.map(({ sequence }) => ({ sequence, normalizationId: 'bench' }));
    for (const [index, { candidates }] of (await searchMany(batch, settings, engine)).entries()) {
      for (const [by, scoreOf] of Object.entries(RANKINGS)) {
        const best = candidates
          .map((candidate) => ({
            id: engine.release.targets.id(candidate.targetIndex),
            score: scoreOf(candidate),
          }))
          .sort((a, b) => (b.score ?? -Infinity) - (a.score ?? -Infinity));
        const isEvident = (score: number | undefined): boolean => (score ?? 0) >= -Math.log(EVIDENT_E);
        rankings.get(by)!.set(chunk[index].id, {
          ids: best.map(({ id }) => id),
          ...(by === 'E-value' && { evidentCount: best.filter(({ score }) => isEvident(score)).length }),
        });
      }
    }
  }
  return rankings;
}

async function rankByPeer(
  peer: Peer,
  queries: readonly BenchProtein[],
  targets: readonly BenchProtein[],
  folder: string,
): Promise<Ranking> {
  const hits = await peer.search(queries, targets, folder, LARGEST_E[peer.name]);
  const ranking = new Map<string, { ids: string[]; evidentCount: number }>();
  for (const { queryId, targetId, eValue } of hits.sort((a, b) => a.eValue - b.eValue)) {
    const ranked = ranking.get(queryId) ?? { ids: [], evidentCount: 0 };
    ranked.ids.push(targetId);
    if (eValue <= EVIDENT_E) ranked.evidentCount += 1;
    ranking.set(queryId, ranked);
  }
  return ranking;
}

/**
 * Computes capped recall at DEPTH, and the share of targets with E ≤ 0.001. Both are means over queries with relevant
 * targets.
 */
function recallOf(ranking: Ranking, { queries, labelled, superfamilyOf }: Task): Recall {
  const { bySuperfamily, byDomain } = labelled;
  const hasEValues = [...ranking.values()].some(({ evidentCount }) => evidentCount !== undefined);
  const [whole, remote] = [false, true].map((isRemote) => {
    let [capped, evident, count] = [0, 0, 0];
    for (const { id } of queries) {
      const easy = (isRemote ? byDomain.get(id) : undefined) ?? new Set();
      const relevant = new Set(
        [...bySuperfamily.get(superfamilyOf(id))!].filter((target) => !easy.has(target)),
      );
      if (relevant.size === 0) continue;
      const { ids = [], evidentCount = 0 } = ranking.get(id) ?? {};
      const listed = ids.filter((target) => !easy.has(target)).slice(0, DEPTH);
      capped += listed.filter((target) => relevant.has(target)).length / Math.min(DEPTH, relevant.size);
      evident += ids.slice(0, evidentCount).filter((target) => relevant.has(target)).length / relevant.size;
      count += 1;
    }
    return { capped: capped / count, evident: evident / count };
  });
  const shares = { evident: whole.evident, evidentRemote: remote.evident };
  return { all: whole.capped, remote: remote.capped, ...(hasEValues && shares) };
}
