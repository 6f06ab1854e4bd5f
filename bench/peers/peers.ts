import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { eValueOf } from '../../src/search/pairs/candidate-significance.js';
import { resolvePolicy } from '../../src/search/plan.js';
import { searchMany } from '../../src/search/search.js';
import type { Guarantee, SearchEngine, SearchResult } from '../../src/search/search-types.js';
import type { Bench } from '../main.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';
import { qualifiedEngine } from '../tools/qualified.js';
import { median } from '../tools/statistics.js';
import { claimOf, runTool, TOOLS, type Claims } from './tools.js';

/*
 * How many queries per second does a core answer with affine scores and E-values, and how many homologs are found? The
 * bench runs both approximate policies, mmseqs2, DIAMOND and BLASTP on the same queries, database and cores.
 *
 *   npm run bench -- peers <database> [queries] [exhaustive queries]
 *
 * The database is in the configured indexes folder, calibrated and qualified. The coded policy is qualified here with
 * few queries in a temporary folder, even if too few for the appliance to offer the policy. Queries are proteins of the
 * database. Each must find itself; its other hits count. Times are processor time and include the start of a program.
 * `marginal` is the time that each query adds to the first. Single queries are timed by the clock, on all threads.
 */

const LIMIT = 500;
const LARGEST_E = 1e-3;
const SINGLE_QUERIES = 12;
const QUALIFYING_QUERIES = 20;

interface Row {
  readonly name: string;
  /** Queries per second of a core: marginal, and with the program's start. */
  readonly marginal: number;
  readonly whole: number;
  readonly claims: Claims;
}

export const run: Bench = async ([slug, queryCount = '50', exhaustiveCount = '10']) => {
  assert(slug !== undefined, 'npm run bench -- peers <database> needs a database of the indexes folder');
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-peers-'));
  try {
    const database = appliance.releases.database(slug);
    assert(database !== undefined, `the indexes folder has no database ${slug}`);
    const engine = await appliance.engines.open(database.defaultReleaseId);
    assert(engine.codebook === undefined, `${slug} must be qualified by --policy sampled`);
    const { targets } = engine.release;
    const proteins = Array.from({ length: targets.count }, (_, target): BenchProtein => ({
      id: targets.id(target),
      sequence: targets.sequence(target),
    }));
    const queries = spread(proteins, Number(queryCount));
    const policy = resolvePolicy(engine, { guarantee: 'approximate', limit: limitOf(engine) });
    console.log(`${queries.length} queries against ${proteins.length}: ${JSON.stringify(policy)}`);
    const threads = engine.threads ?? 1;
    const ours = await timeSearches('sampled', 'approximate', queries, engine);
    const byCodes = await qualifiedEngine(engine, 'coded', { queryCount: QUALIFYING_QUERIES, folder });
    const coded = await timeSearches('coded', 'approximate', queries, byCodes);
    const exhaustive = await timeSearches(
      'exhaustive',
      'exhaustive',
      spread(queries, Number(exhaustiveCount)),
      engine,
    );
    const singleMs = await timeSingles(queries, engine);
    console.log(
      `one query alone: ${singleMs.toFixed(0)} ms (median of ${SINGLE_QUERIES}, ${threads} threads)`,
    );
    await writeFasta(join(folder, 'targets.fasta'), proteins);
    const rows = [ours, coded, ...(await timeTools(queries, folder, threads))];
    report([exhaustive, ...rows], ours.claims);
    return {
      policy,
      queries: queries.length,
      targets: proteins.length,
      single_ms: singleMs,
      exhaustive_queries_per_core_second: exhaustive.marginal,
      ...Object.fromEntries(
        rows.map(({ name, marginal, whole, claims }) => [
          name,
          {
            marginal_queries_per_core_second: marginal,
            whole_queries_per_core_second: whole,
            claims: claims.size,
          },
        ]),
      ),
    };
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

/** Times all queries as one pack, after one query that opens the files. */
async function timeSearches(
  name: string,
  guarantee: Guarantee,
  queries: readonly BenchProtein[],
  engine: SearchEngine,
): Promise<Row> {
  const first = await processorSecondsOf(() => searchAll(queries.slice(0, 1), guarantee, engine));
  const all = await processorSecondsOf(() => searchAll(queries, guarantee, engine));
  const claims = new Set<string>();
  all.result.forEach(({ candidates }, query) => {
    const { id, sequence } = queries[query];
    const sequences = candidates.map(({ targetIndex }) => engine.release.targets.sequence(targetIndex));
    assert(sequences.includes(sequence), `the query ${id} finds itself`);
    for (const candidate of candidates) {
      const target = engine.release.targets.id(candidate.targetIndex);
      const e = eValueOf(candidate);
      if (target !== id && e !== undefined && e <= LARGEST_E) claims.add(claimOf(id, target));
    }
  });
  return {
    name,
    marginal: queries.length / all.seconds,
    whole: (queries.length + 1) / (all.seconds + first.seconds),
    claims,
  };
}

/** Number of candidates that the policy lists. */
function limitOf({ qualification }: SearchEngine): number {
  return Math.min(LIMIT, qualification?.card.policy.nearest_count ?? LIMIT);
}

function searchAll(
  queries: readonly BenchProtein[],
  guarantee: Guarantee,
  engine: SearchEngine,
): Promise<readonly SearchResult[]> {
  const batch = queries.map(({ sequence }) => ({ sequence, normalizationId: 'bench' }));
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: limitOf(engine),
    evidence: 'candidate_measurement',
    significance: 'if_available',
    guarantee,
  } as const;
  return searchMany(batch, settings, engine);
}

async function processorSecondsOf<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly seconds: number; readonly result: Result }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { seconds: (user + system) / 1e6, result };
}

async function timeSingles(queries: readonly BenchProtein[], engine: SearchEngine): Promise<number> {
  const times: number[] = [];
  for (const query of spread(queries, SINGLE_QUERIES)) {
    const startedAt = performance.now();
    await searchAll([query], 'approximate', engine);
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

async function timeTools(
  queries: readonly BenchProtein[],
  folder: string,
  threads: number,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const tool of TOOLS) {
    const done = await runTool(tool, queries, folder, threads, LARGEST_E);
    if (done === undefined) {
      console.log(`${tool.name}: skipped, it is not installed`);
      continue;
    }
    const { oneSeconds, allSeconds, claims } = done;
    const marginal = (queries.length - 1) / (allSeconds - oneSeconds);
    rows.push({ name: tool.name, marginal, whole: queries.length / allSeconds, claims });
  }
  return rows;
}

function report(rows: readonly Row[], ours: Claims): void {
  const header = ['queries/s a core', 'with start', `E <= ${LARGEST_E}`, 'also sampled'];
  console.log(`${''.padEnd(26)}${header.map((cell) => cell.padStart(18)).join('')}`);
  for (const { name, marginal, whole, claims } of rows) {
    const shared = [...claims].filter((claim) => ours.has(claim)).length;
    const share = claims.size === 0 ? '–' : (shared / claims.size).toFixed(3);
    const cells = [marginal.toFixed(2), whole.toFixed(2), String(claims.size), share];
    console.log(`${name.padEnd(26)}${cells.map((cell) => cell.padStart(18)).join('')}`);
  }
}

/** Picks items evenly over the list. */
function spread<Item>(list: readonly Item[], count: number): readonly Item[] {
  const wanted = Math.min(count, list.length);
  return Array.from({ length: wanted }, (_, at) => list[Math.floor(((at + 0.5) * list.length) / wanted)]);
}
