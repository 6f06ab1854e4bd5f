import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { FAMILY_PARAMETERS, familiesOf, type FamilyParameters } from '../../src/neighbours/families.js';
import { readNeighbours } from '../../src/neighbours/sidecar.js';
import { computeNeighbours } from '../../src/pipelines/neighbours/neighbours.js';
import { assert } from '../../src/errors.js';
import type { Bench } from '../main.js';
import { openCalibrated } from '../tools/calibrated-database.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { agreementOf, type Agreement } from './agreement.js';

/*
 * Do the families of `gloaming cluster` agree with SCOPe's superfamilies? The proteins are the dev domains, without
 * homologs; beside them, mmseqs easy-cluster at many settings. The defaults of families were chosen on these domains.
 *
 *   npm run bench -- clusters FOLDER
 *
 * FOLDER keeps database, neighbours and the clusters of mmseqs for the next call. Neighbours take five minutes of
 * processor time.
 */

/** Settings of mmseqs beside `-s 7.5 --cov-mode 0 -e 1e-3`: set cover, connected components and greedy by length. */
const PEER_SETTINGS = ['0', '0.3', '0.5', '0.6', '0.7', '0.8'].flatMap((coverage) =>
  ['0', '1', '2'].map((mode) => `-c ${coverage} --cluster-mode ${mode}`),
);

/** Parameters beside the defaults, to show what each of them changes. */
const VARIANTS: Readonly<Record<string, Partial<FamilyParameters>>> = {
  default: {},
  'E ≤ 0.001': { largestEValue: 1e-3 },
  'E ≤ 1': { largestEValue: 1 },
  'coverage 0': { leastCoverage: 0 },
  'coverage 0.8': { leastCoverage: 0.8 },
  'inflation 2': { inflationQuarters: 8 },
};

export const run: Bench = async ([folder = 'clusters']) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  if (!existsSync(join(scope, 'labels.tsv'))) {
    console.log('Skipped: it needs the labelled domains.');
    return { skipped: 'no data' };
  }
  mkdirSync(folder, { recursive: true });
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list } = await readProteins(join(scope, 'domains.fasta'));
  const proteins = list.filter(({ id }) => labels.get(id)!.isDev);
  const measure = measureOf(proteins, labels);
  const ours = await clusterOurs(proteins, folder, measure);
  const peers = clusterPeers(proteins, folder, measure);
  const { default: standard } = ours;
  const [bestName, best] = Object.entries(peers).reduce(
    (one, other) => (other[1].adjustedRand > (one[1]?.adjustedRand ?? -1) ? other : one),
    ['none', undefined] as [string, Agreement | undefined],
  );
  const others = Object.entries(peers).map(([name, row]) => [`mmseqs ${name}`, row] as const);
  console.log('families  adjusted Rand  purity  completeness  pairs right  pairs found');
  for (const [name, row] of [...Object.entries(ours), ...others]) console.log(`${line(row)}  ${name}`);
  const adjustedRands = Object.entries(ours).map(([name, { adjustedRand }]) => [name, adjustedRand]);
  return {
    domains: proteins.length,
    ours: standard,
    variants: Object.fromEntries(adjustedRands),
    ...(best !== undefined && { mmseqs_best: { settings: bestName, ...best } }),
  };
};

function line({
  families,
  adjustedRand,
  purity,
  completeness,
  pairPrecision,
  pairRecall,
}: Agreement): string {
  const ratios = [adjustedRand, purity, completeness, pairPrecision, pairRecall].map((ratio) =>
    ratio.toFixed(4),
  );
  return [String(families).padStart(5), ...ratios].join('  ');
}

type Measure = (clusterOf: (protein: number) => number) => Agreement;

function measureOf(proteins: readonly BenchProtein[], labels: ReadonlyMap<string, DomainLabel>): Measure {
  const superfamilies = proteins.map(({ id }) => labels.get(id)!.superfamily);
  return (clusterOf) => agreementOf(superfamilies, [...proteins.keys()].map(clusterOf));
}

async function clusterOurs(
  proteins: readonly BenchProtein[],
  folder: string,
  measure: Measure,
): Promise<Readonly<Record<string, Agreement>>> {
  const places = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const environment = { ...process.env, ...places };
  const config = loadConfig(environment);
  const appliance = await openAppliance(config);
  try {
    const { release } = await openCalibrated(appliance, proteins, 'domains', folder);
    await computeNeighbours({ database: 'domains' }, config, environment, {});
    const neighbours = await readNeighbours(release);
    assert(neighbours !== undefined, 'the graph was computed');
    const { targets } = release;
    const positions = proteins.map(({ id }) => targets.find(id)!);
    const entries = Object.entries(VARIANTS).map(([name, changed]) => {
      const parameters = { ...FAMILY_PARAMETERS, ...changed };
      const clusters = new Uint32Array(targets.count);
      const startedMs = performance.now();
      const families = familiesOf(neighbours.graph, (target) => targets.length(target), parameters);
      console.log(`${name}: ${Math.round(performance.now() - startedMs)} ms`);
      for (const [family, { members }] of families.entries()) {
        for (const member of members) clusters[member] = family;
      }
      return [name, measure((protein) => clusters[positions[protein]])] as const;
    });
    return Object.fromEntries(entries);
  } finally {
    await appliance.close();
  }
}

/** Clusters by mmseqs easy-cluster, by setting. Empty without mmseqs. */
function clusterPeers(
  proteins: readonly BenchProtein[],
  folder: string,
  measure: Measure,
): Readonly<Record<string, Agreement>> {
  if (spawnSync('mmseqs', ['version']).status !== 0) return {};
  const fasta = join(folder, 'peers.fasta');
  writeFileSync(fasta, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
  const entries = PEER_SETTINGS.map((settings) => {
    const prefix = join(folder, `peer-${settings.replaceAll(/[^0-9]+/g, '-')}`);
    const path = `${prefix}_cluster.tsv`;
    if (!existsSync(path)) {
      const words = ['easy-cluster', fasta, prefix, `${prefix}.tmp`, ...BASE, ...settings.split(' ')];
      const { status, stderr } = spawnSync('mmseqs', [...words, '-v', '1'], { encoding: 'utf8' });
      assert(status === 0, `mmseqs fails: ${stderr}`);
    }
    const representatives = new Map(
      readFileSync(path, 'utf8')
        .trimEnd()
        .split('\n')
        .map((row) => row.split('\t'))
        .map(([representative, member]) => [member, representative]),
    );
    const numbers = new Map([...new Set(representatives.values())].map((id, number) => [id, number]));
    return [
      settings,
      measure((protein) => numbers.get(representatives.get(proteins[protein].id)!)!),
    ] as const;
  });
  return Object.fromEntries(entries);
}

const BASE = ['-s', '7.5', '--cov-mode', '0', '-e', '1e-3'];
