import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { gpuReport } from '../../src/kernels/cuda.js';
import { batchDigests, runBatch } from '../batch/client.js';
import type { FigureTable } from '../figures/tables.js';
import type { Bench } from '../main.js';
import { readProteins, spaced, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { serverProcess, type ServerProcess } from '../tools/server-process.js';
import { answersTo, latencyOf, querySource, rateOf, type Latency, type SearchClient } from './searches.js';

/*
 * Does a server answer on a GPU as on the CPU, to the bit, and how much faster? A server on the GPU and then one on the
 * CPU answer the same searches and the same batch over HTTP. While the first one runs, a second server, with a data
 * folder of its own, searches the same database on the same GPU.
 *
 *   npm run bench -- gpu-server [targets] [seconds of each load] [FASTA]
 */

const PORT = 18_260;
const LIMIT = 100;
const BATCH_QUERIES = 64;
const TIMED_QUERIES = 23;
const LOAD_RESIDUES = 300;
const CLIENTS = [1, 8, 32];
const MEBIBYTE = 1024 ** 2;
const TIMED: Readonly<
  Record<string, readonly [residues: number, settings: Readonly<Record<string, unknown>>]>
> = {
  '100 residues': [100, {}],
  '300 residues': [300, {}],
  '300 residues, without E-values': [300, { significance: 'not_requested' }],
  '300 residues, with alignments': [300, { evidence: 'pairwise_sequence_alignment' }],
  '1,000 residues': [1_000, {}],
};

type Table = Pick<FigureTable, 'id' | 'title' | 'columns' | 'rows'>;
type RunningServer = SearchClient & Pick<ServerProcess, 'stop'>;

/** What searches cost on one device. */
interface Costs {
  readonly latency: Readonly<Record<string, Latency>>;
  readonly batch_s: number;
  /** Keyed by the number of clients. */
  readonly searches_per_second: Readonly<Record<string, number>>;
}

interface Measured extends Costs {
  /** Of all searches but those of the loads. */
  readonly digests: readonly string[];
}

export const run: Bench = async ([targetCount = '27915', seconds = '3', fasta]) => {
  const report = gpuReport();
  if (report.obstacle !== undefined) {
    console.log('Skipped: no GPU.');
    return { skipped: 'no GPU' };
  }
  const { packageFolder } = loadConfig(process.env);
  const shared = process.env.GLOAMING_SHARED ?? join(packageFolder, '..', 'shared');
  const { list } = await readProteins(fasta ?? join(shared, 'data', 'uniprot-sample.fasta.gz'));
  const proteins = list.slice(0, Number(targetCount));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-gpu-server-'));
  const servers: RunningServer[] = [];
  const start = async (device: string, data: string): Promise<RunningServer> => {
    const server = serverProcess(packageFolder, {
      ...foldersOf(folder, data),
      GLOAMING_DEVICE: device,
      GLOAMING_PORT: String(PORT + servers.length),
    });
    const key = await server.createKey('bench');
    await server.start();
    servers.push({ ...server, key });
    return servers.at(-1)!;
  };
  try {
    await build(packageFolder, folder, proteins);
    const usedBefore = usedBytes();
    const first = await start('cuda', 'data');
    const onGpu = await measure(first, 'cuda', proteins, Number(seconds));
    const usedByOne = usedBytes() - usedBefore;
    const second = await start('cuda', 'data-of-second');
    const answers = await answersTo(second, proteins);
    assert(
      answers.digests.every((digest, at) => digest === onGpu.digests[at]),
      'two servers answer alike',
    );
    const usedByTwo = usedBytes() - usedBefore;
    await second.stop();
    await first.stop();
    const onCpu = await measure(await start('cpu', 'data'), 'native', proteins, Number(seconds));
    assert(onGpu.digests.join() === onCpu.digests.join(), 'GPU and CPU answer alike, to the bit');
    const { digests, ...gpu } = onGpu;
    const { digests: _, ...cpu } = onCpu;
    const figures = {
      gpu_name: report.gpus[0].name,
      targets: proteins.length,
      equal_digests: digests.length,
      gpu,
      cpu,
      gpu_memory_mib: usedByOne / MEBIBYTE,
      gpu_memory_of_two_servers_mib: usedByTwo / MEBIBYTE,
    };
    console.log(JSON.stringify(figures, undefined, 2));
    return { ...figures, tables: [tableOf(proteins.length, figures.gpu_name, gpu, cpu)] };
  } finally {
    for (const server of servers) await server.stop();
    await rm(folder, { recursive: true });
  }
};

function foldersOf(folder: string, data: string): Readonly<Record<string, string>> {
  return { GLOAMING_INDEXES: join(folder, 'indexes'), GLOAMING_DATA: join(folder, data) };
}

/** Builds and calibrates the database on the CPU, as the command does by default. */
async function build(
  packageFolder: string,
  folder: string,
  proteins: readonly BenchProtein[],
): Promise<void> {
  const fasta = join(folder, 'targets.fasta');
  await writeFasta(fasta, proteins);
  const program = join(packageFolder, 'dist', 'src', 'cli', 'main.js');
  const words = ['index', 'build', fasta, '--name', 'bench', '--homologs', 'none', '--no-qualification'];
  const env = { ...process.env, ...foldersOf(folder, 'data'), GLOAMING_DEVICE: 'cpu' };
  await promisify(execFile)(process.execPath, [program, ...words], { env });
}

/** Memory that all processes use on the first GPU. Unit  bytes */
function usedBytes(): number {
  const report = gpuReport();
  assert(report.obstacle === undefined, 'the GPU is still there');
  const [{ totalBytes, freeBytes }] = report.gpus;
  return totalBytes - freeBytes;
}

async function measure(
  server: RunningServer,
  backend: 'cuda' | 'native',
  proteins: readonly BenchProtein[],
  seconds: number,
): Promise<Measured> {
  const compared = await answersTo(server, proteins);
  const [digests, engines] = [[...compared.digests], new Set(compared.engines)];
  const draw = querySource(proteins);
  const latency: Record<string, Latency> = {};
  for (const [name, [residues, settings]] of Object.entries(TIMED)) {
    const queries = Array.from({ length: TIMED_QUERIES }, () => draw(residues));
    const timed = await latencyOf(server, queries, settings);
    latency[name] = { p50_ms: timed.p50_ms, p95_ms: timed.p95_ms };
    digests.push(...timed.digests);
    for (const engine of timed.engines) engines.add(engine);
  }
  const startedAt = performance.now();
  const batch = await runBatch(server, spaced(proteins, BATCH_QUERIES), LIMIT);
  const batchMs = performance.now() - startedAt;
  digests.push(...(await batchDigests(server, batch)));
  const searches_per_second: Record<string, number> = {};
  for (const clients of CLIENTS)
    searches_per_second[clients] = await rateOf(server, clients, seconds, () => draw(LOAD_RESIDUES));
  const isServed = [...engines].every((engine) => engine.startsWith(backend));
  assert(isServed, `${backend} serves each search, not ${[...engines].join(', ')}`);
  return { digests, latency, batch_s: batchMs / 1_000, searches_per_second };
}

function tableOf(targetCount: number, gpuName: string, gpu: Costs, cpu: Costs): Table {
  const pair = (name: string, of: (costs: Costs) => number, digits = 0): readonly string[] => [
    name,
    of(gpu).toFixed(digits),
    of(cpu).toFixed(digits),
  ];
  return {
    id: 'gpu-server',
    title: `Exhaustive searches of ${targetCount.toLocaleString('en')} proteins over HTTP: ${gpuName}, and the CPU`,
    columns: ['', 'GPU', 'CPU'],
    rows: [
      ...Object.keys(TIMED).map((name) => pair(`${name}: median, ms`, ({ latency }) => latency[name].p50_ms)),
      ...CLIENTS.map((clients) =>
        pair(
          `searches of ${LOAD_RESIDUES} residues a second, clients: ${clients}`,
          (costs) => costs.searches_per_second[clients],
        ),
      ),
      pair(`batch of ${BATCH_QUERIES} queries, s`, ({ batch_s: seconds }) => seconds, 1),
    ],
  };
}
