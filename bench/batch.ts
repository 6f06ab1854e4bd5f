import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { openAppliance, type Appliance } from '../src/appliance.js';
import { serve } from '../src/cli/serve.js';
import { loadConfig } from '../src/config.js';
import type { HomologyQueryResult } from '../src/contract/run-endpoints.js';
import type { Run } from '../src/contract/runs.js';
import { assert } from '../src/errors.js';
import { BATCH_PACK_MAX_RESIDUES } from '../src/limits.js';
import type { SearchEngine } from '../src/search/search-types.js';
import type { Bench } from './main.js';
import { buildBenchDatabase } from './batch-database.js';
import { readProteins, type BenchProtein } from './search-proteins.js';
import { percentile } from './search-statistics.js';

/*
 * What share of encoder and kernels alone does a batch run reach, is it ever slower than the same queries one by one,
 * and what does it cost the direct searches meanwhile?
 *
 *   npm run bench -- batch [targets] [queries] [FASTA]
 */

const LIMIT = 100;
const DIRECT_QUERIES = 24;
const ONE_BY_ONE_QUERIES = 24;
const ALONE_PACK_QUERIES = 64;

interface Session {
  readonly appliance: Appliance;
  readonly engine: SearchEngine;
  readonly url: string;
  readonly key: string;
}

export const run: Bench = async ([targetCount = '4000', queryCount = '200', fasta]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const { source, list } = await readProteins(fasta ?? join(shared, 'data', 'uniprot-sample.fasta.gz'));
  const targets = spread(list, Number(targetCount), 0);
  const taken = new Set(targets);
  const rest = list.filter((protein) => !taken.has(protein));
  const queries = spread(rest, Number(queryCount), 0);
  const direct = spread(rest, 2 * DIRECT_QUERIES + 1, 1);
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-batch-'));
  const appliance = await openAppliance(
    loadConfig({
      ...process.env,
      GLOAMING_INDEXES: join(folder, 'i'),
      GLOAMING_DATA: join(folder, 'd'),
      GLOAMING_PORT: '0',
    }),
  );
  const server = await serve(appliance, pino({ level: 'silent' }));
  try {
    console.log(
      `${source}: ${queries.length} queries against ${targets.length}, ${appliance.config.encoder}`,
    );
    const engine = await buildBenchDatabase(appliance, targets, 'batch', folder);
    const { key } = await appliance.keys.create('bench', 'default');
    const session = { appliance, engine, url: server.url, key };
    const figures = await measure(session, queries, direct);
    const peer = await timeMmseqs(targets, queries, folder);
    console.log(
      peer === undefined ? 'mmseqs search: not installed' : `mmseqs search: ${peer.toFixed(2)} queries/s`,
    );
    return {
      source,
      targets: targets.length,
      queries: queries.length,
      ...figures,
      mmseqs_queries_per_second: peer,
    };
  } finally {
    await server.stop(1_000);
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

async function measure(
  session: Session,
  queries: readonly BenchProtein[],
  direct: readonly BenchProtein[],
): Promise<Readonly<Record<string, number>>> {
  // The first search opens what is opened once.
  await searchDirect(session, direct[0]);
  const quiet = await directLatencies(session, direct.slice(1, 1 + DIRECT_QUERIES));
  const before = await timeAlone(session.engine, queries);
  let finished: Run | undefined;
  const batch = await rateOf(queries, async () => (finished = await runBatch(session, queries)));
  const after = await timeAlone(session.engine, queries);
  const alone = { wall: (before.wall + after.wall) / 2, cpu: (before.cpu + after.cpu) / 2 };
  const some = queries.slice(0, ONE_BY_ONE_QUERIES);
  const oneByOne = await rateOf(some, async () => {
    for (const query of some) await searchDirect(session, query);
  });
  await checkAnswers(session, finished as Run, queries);
  // A second batch, only to be in the way of direct searches; it is cancelled when they are done.
  const { id } = await submit(session, [...queries, ...queries], 'in the way');
  const busy = await directLatencies(session, direct.slice(1 + DIRECT_QUERIES));
  const state = (await call(session, 'POST', `/v1/runs/${id}/cancel`)) as { data: Run };
  const p95 = { quiet: percentile(quiet, 0.95), busy: percentile(busy, 0.95) };
  console.log(`encoder and kernels alone  ${inWords(alone)}`);
  console.log(`batch run                  ${inWords(batch)}`);
  console.log(`one by one over HTTP       ${inWords(oneByOne)}`);
  console.log(
    `batch ÷ alone              ${share(batch.wall / alone.wall)} by the clock, ` +
      `${share(batch.cpu / alone.cpu)} by CPU time`,
  );
  console.log(
    `direct p95                 ${p95.quiet.toFixed(0)} ms quiet, ${p95.busy.toFixed(0)} ms beside a batch ` +
      `(${(p95.busy / p95.quiet).toFixed(2)} ×), which went on by ${state.data.progress.done_count} queries`,
  );
  return {
    alone_queries_per_second: alone.wall,
    batch_queries_per_second: batch.wall,
    batch_share_of_alone: batch.wall / alone.wall,
    batch_share_of_alone_by_cpu: batch.cpu / alone.cpu,
    one_by_one_queries_per_second: oneByOne.wall,
    direct_p95_quiet_ms: p95.quiet,
    direct_p95_beside_batch_ms: p95.busy,
    direct_p95_ratio: p95.busy / p95.quiet,
  };
}

/** Queries per second of the clock, and of the processor's time: other programs disturb only the first. */
interface Rate {
  readonly wall: number;
  readonly cpu: number;
}

async function rateOf(queries: readonly BenchProtein[], work: () => Promise<unknown>): Promise<Rate> {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpuBefore);
  return {
    wall: queries.length / ((performance.now() - startedAt) / 1e3),
    cpu: queries.length / ((user + system) / 1e6),
  };
}

function inWords({ wall, cpu }: Rate): string {
  return `${wall.toFixed(2)} queries/s, ${cpu.toFixed(2)} per second of CPU time`;
}

/** Encoder and kernels on the same queries in packs, rescoring as many targets as a search does, and nothing else. */
async function timeAlone(engine: SearchEngine, queries: readonly BenchProtein[]): Promise<Rate> {
  const { encoder, backend, store, release, threads } = engine;
  const count = release.targets.count;
  const rescored = Uint32Array.from({ length: Math.min(LIMIT, count) }, (_, at) =>
    Math.floor((at * count) / LIMIT),
  );
  return rateOf(queries, async () => {
    for (const pack of packs(queries)) {
      const tokens = await encoder.encode(pack.map(({ sequence }) => sequence));
      await backend.maxsim(store, tokens, undefined, { threads });
      for (const query of tokens) {
        await backend.affineScores(store, query, rescored, release.affine, { threads });
      }
    }
  });
}

function* packs(queries: readonly BenchProtein[]): Generator<readonly BenchProtein[]> {
  let pack: BenchProtein[] = [];
  let residues = 0;
  for (const query of queries) {
    if (pack.length === ALONE_PACK_QUERIES || residues + query.sequence.length > BATCH_PACK_MAX_RESIDUES) {
      yield pack;
      pack = [];
      residues = 0;
    }
    pack.push(query);
    residues += query.sequence.length;
  }
  if (pack.length > 0) yield pack;
}

/** From submission to the end, as a client sees it. */
async function runBatch(session: Session, queries: readonly BenchProtein[]): Promise<Run> {
  let run = await submit(session, queries, 'timed');
  while (run.finished_at === undefined) {
    ({ data: run } = (await call(session, 'GET', `/v1/runs/${run.id}`, undefined, 'wait=60')) as {
      data: Run;
    });
  }
  assert(run.status === 'completed', `the batch must complete: ${JSON.stringify(run.error)}`);
  return run;
}

async function submit(session: Session, queries: readonly BenchProtein[], label: string): Promise<Run> {
  const input = { limit: LIMIT, queries: queries.map(({ id, sequence }) => ({ id, sequence })) };
  const body = { endpoint: 'homology.batch_search', input, label };
  return ((await call(session, 'POST', '/v1/runs', body)) as { data: Run }).data;
}

/** A batch answers what the direct route answers. */
async function checkAnswers(session: Session, { id }: Run, queries: readonly BenchProtein[]): Promise<void> {
  const page = await call(session, 'GET', `/v1/runs/${id}/results?limit=20`);
  for (const row of (page as { data: HomologyQueryResult[] }).data.filter((_, index) => index % 7 === 0)) {
    const { result_sha256: digest } = await searchDirect(session, queries[row.query_index]);
    assert(digest === row.result_sha256, `query ${row.query_id} of the batch has the direct route's result`);
  }
}

async function directLatencies(
  session: Session,
  queries: readonly BenchProtein[],
): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (const query of queries) {
    const startedAt = performance.now();
    await searchDirect(session, query);
    latencies.push(performance.now() - startedAt);
  }
  return latencies;
}

async function searchDirect(
  session: Session,
  { sequence }: BenchProtein,
): Promise<{ result_sha256: string }> {
  const body = { query: { kind: 'protein_sequence', sequence }, limit: LIMIT };
  return (await call(session, 'POST', '/v1/homology', body)) as { result_sha256: string };
}

async function call(
  { url, key }: Session,
  method: string,
  path: string,
  body?: unknown,
  prefer = 'respond-async',
): Promise<unknown> {
  const response = await fetch(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Prefer: prefer },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer = (await response.json()) as unknown;
  assert(response.ok, `${method} ${path}: ${JSON.stringify(answer).slice(0, 500)}`);
  return answer;
}

/** Queries per second of `mmseqs search` on the same files and cores; undefined where it is not installed. */
async function timeMmseqs(
  targets: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  folder: string,
): Promise<number | undefined> {
  const mmseqs = (...options: string[]) => promisify(execFile)('mmseqs', options, { cwd: folder });
  try {
    for (const [name, list] of [
      ['targets', targets],
      ['queries', queries],
    ] as const) {
      const text = list.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join('');
      await writeFile(join(folder, `${name}.fasta`), text);
      await mmseqs('createdb', `${name}.fasta`, name, '-v', '0');
    }
    const startedAt = performance.now();
    const threads = String(availableParallelism());
    await mmseqs('search', 'queries', 'targets', 'found', 'tmp', '--threads', threads, '-v', '0');
    return queries.length / ((performance.now() - startedAt) / 1000);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Evenly spread over the list, so that every proteome has its part. */
function spread(list: readonly BenchProtein[], count: number, offset: number): readonly BenchProtein[] {
  const stride = Math.max(1, Math.floor(list.length / count));
  return list.filter((_, index) => index % stride === offset % stride).slice(0, count);
}

function share(ratio: number): string {
  return `${(100 * ratio).toFixed(0)} %`;
}
