import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAppliance } from '../../src/appliance.js';
import { serve } from '../../src/cli/serve/serve.js';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { batchDigests, cancelRun, runBatch, searchDirect, submitBatch, type BatchClient } from './client.js';
import { buildBenchDatabase } from '../tools/database.js';
import { timeMmseqs } from './mmseqs.js';
import { best, inWords, rankAll, rateOf, workAlone, type Rate } from './rates.js';
import type { Bench } from '../main.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { percentile } from '../tools/statistics.js';

/*
 * Which share of the throughput of encoder and kernels alone does a batch run reach? Is a batch ever slower than the
 * same queries one by one? How much does a batch delay direct searches?
 *
 *   npm run bench -- batch [targets] [queries] [rounds] [FASTA]
 *
 * The three ways run the same queries, at most 200, in alternating rounds. If there are more queries, all of them also
 * run as one batch.
 */

const LIMIT = 100;
const DIRECT_QUERIES = 24;
const COMPARED_MAX_QUERIES = 200;

interface Session {
  readonly engine: SearchEngine;
  readonly client: BatchClient;
}

type Figures = Readonly<Record<string, number | undefined>>;

export const run: Bench = async ([targetCount = '4000', queryCount = '200', rounds = '3', fasta]) => {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const { source, list } = await readProteins(fasta ?? join(shared, 'data', 'uniprot-sample.fasta.gz'));
  const targets = spread(list, Number(targetCount));
  const targetSequences = new Set(targets.map(({ sequence }) => sequence));
  const rest = distinct(list.filter(({ sequence }) => !targetSequences.has(sequence)));
  const queries = spread(rest, Number(queryCount));
  const queried = new Set(queries);
  const direct = spread(
    rest.filter((protein) => !queried.has(protein)),
    2 * DIRECT_QUERIES + 1,
  );
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-batch-'));
  const places = {
    GLOAMING_INDEXES: join(folder, 'i'),
    GLOAMING_DATA: join(folder, 'd'),
    GLOAMING_PORT: '0',
  };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...places }));
  const server = await serve(appliance, pino({ level: 'silent' }));
  try {
    const { encoder } = appliance.config;
    console.log(`${source}: ${queries.length} queries against ${targets.length}, ${encoder}`);
    const engine = await buildBenchDatabase(appliance, targets, 'batch', folder);
    const { key } = await appliance.keys.create('bench', 'default');
    const session = { engine, client: { url: server.url, key } };
    // The first search opens release and encoder.
    await searchDirect(session.client, direct[0], LIMIT);
    const figures = {
      ...(await compare(session, spread(queries, COMPARED_MAX_QUERIES), Number(rounds))),
      ...(await disturb(session, queries, direct.slice(1))),
      ...(queries.length > COMPARED_MAX_QUERIES ? await complete(session, queries) : {}),
      ...(await besideMmseqs(targets, queries, folder)),
    };
    return { source, targets: targets.length, queries: queries.length, ...figures };
  } finally {
    await server.stop(1_000);
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

/**
 * Times the same queries with encoder and kernels alone, as a batch, and one by one. Each round starts with another of
 * the three.
 */
async function compare(
  { engine, client }: Session,
  queries: readonly BenchProtein[],
  roundCount: number,
): Promise<Figures> {
  const ranked = await rankAll(engine, queries, LIMIT + roundCount);
  const alone: Rate[] = [];
  const batch: Rate[] = [];
  const oneByOne: Rate[] = [];
  for (let round = 0; round < roundCount; round += 1) {
    // A different limit is a different search, which no cache answers.
    const limit = LIMIT + round;
    let inBatch: readonly string[] = [];
    const single: string[] = [];
    const arms = [
      async () => alone.push(await rateOf(queries, () => workAlone(engine, queries, ranked, limit))),
      async () => {
        let finished: Awaited<ReturnType<typeof runBatch>> | undefined;
        batch.push(await rateOf(queries, async () => (finished = await runBatch(client, queries, limit))));
        inBatch = await batchDigests(client, finished!);
      },
      async () => {
        const work = async () => {
          for (const query of queries) single.push(await searchDirect(client, query, limit));
        };
        oneByOne.push(await rateOf(queries, work));
      },
    ];
    for (let turn = 0; turn < arms.length; turn += 1) await arms[(round + turn) % arms.length]();
    assert(inBatch.length === queries.length, 'a batch has a row for each query');
    assert(
      inBatch.every((digest, index) => digest === single[index]),
      'a batch finds what the direct route finds',
    );
  }
  return report(alone, batch, oneByOne);
}

function report(alone: readonly Rate[], batch: readonly Rate[], oneByOne: readonly Rate[]): Figures {
  console.log(`encoder and kernels alone  ${inWords(alone)}`);
  console.log(`batch run                  ${inWords(batch)}`);
  console.log(`one by one over HTTP       ${inWords(oneByOne)}`);
  const [kernels, together, single] = [best(alone), best(batch), best(oneByOne)];
  const ofAlone = { wall: together.wall / kernels.wall, cpu: together.cpu / kernels.cpu };
  const ofSingle = { wall: together.wall / single.wall, cpu: together.cpu / single.cpu };
  console.log(`batch ÷ alone              ${share(ofAlone.wall)} by the clock, ${share(ofAlone.cpu)} by CPU`);
  console.log(
    `batch ÷ one by one         ${share(ofSingle.wall)} by the clock, ${share(ofSingle.cpu)} by CPU`,
  );
  return {
    rounds: batch.length,
    alone_queries_per_second: kernels.wall,
    batch_queries_per_second: together.wall,
    batch_residues_per_second: together.residuesByWall,
    one_by_one_queries_per_second: single.wall,
    batch_share_of_alone: ofAlone.wall,
    batch_share_of_alone_by_cpu: ofAlone.cpu,
    batch_share_of_one_by_one: ofSingle.wall,
    batch_share_of_one_by_one_by_cpu: ofSingle.cpu,
  };
}

/** Times direct searches alone and during a batch. The batch is cancelled afterwards. */
async function disturb(
  { client }: Session,
  queries: readonly BenchProtein[],
  direct: readonly BenchProtein[],
): Promise<Figures> {
  const quiet = await directLatencies(client, direct.slice(0, DIRECT_QUERIES));
  const { id } = await submitBatch(client, [...queries, ...queries], LIMIT);
  const busy = await directLatencies(client, direct.slice(DIRECT_QUERIES));
  const { status, progress } = await cancelRun(client, id);
  assert(status === 'cancelled', 'the batch outlasts the direct searches');
  const p95 = { quiet: percentile(quiet, 0.95), busy: percentile(busy, 0.95) };
  console.log(
    `direct p95                 ${p95.quiet.toFixed(0)} ms quiet, ${p95.busy.toFixed(0)} ms beside a batch ` +
      `(${(p95.busy / p95.quiet).toFixed(2)} ×), which went on by ${progress.done_count} queries`,
  );
  return {
    direct_p95_quiet_ms: p95.quiet,
    direct_p95_beside_batch_ms: p95.busy,
    direct_p95_ratio: p95.busy / p95.quiet,
  };
}

async function directLatencies(
  client: BatchClient,
  queries: readonly BenchProtein[],
): Promise<readonly number[]> {
  const latencies: number[] = [];
  for (const query of queries) {
    const startedAt = performance.now();
    await searchDirect(client, query, LIMIT);
    latencies.push(performance.now() - startedAt);
  }
  return latencies;
}

/** Runs all queries as one batch. */
async function complete({ client }: Session, queries: readonly BenchProtein[]): Promise<Figures> {
  const rate = await rateOf(queries, async () => {
    const { result } = await runBatch(client, queries, LIMIT);
    assert(result?.row_count === queries.length, 'a batch has a row for each query');
  });
  console.log(`all ${queries.length} as one batch     ${inWords([rate])}`);
  return { complete_queries_per_second: rate.wall, complete_residues_per_second: rate.residuesByWall };
}

async function besideMmseqs(
  targets: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  folder: string,
): Promise<Figures> {
  const rate = await timeMmseqs(targets, queries, folder);
  console.log(`mmseqs search: ${rate === undefined ? 'not installed' : `${rate.toFixed(2)} queries/s`}`);
  return { mmseqs_queries_per_second: rate };
}

/** Picks items evenly over the list, so that every proteome is represented. */
function spread(list: readonly BenchProtein[], count: number): readonly BenchProtein[] {
  const stride = Math.max(1, Math.floor(list.length / count));
  return list.filter((_, index) => index % stride === 0).slice(0, count);
}

/** Keeps one protein of each sequence, because the cache would answer a repeated search. */
function distinct(list: readonly BenchProtein[]): readonly BenchProtein[] {
  return [...new Map(list.map((protein) => [protein.sequence, protein])).values()];
}

function share(ratio: number): string {
  return `${(100 * ratio).toFixed(0)} %`;
}
