import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { filesInput } from '../../src/build-release/sources/input-files.js';
import { buildRelease } from '../../src/build-release/release.js';
import { serve } from '../../src/cli/serve/serve.js';
import { loadConfig } from '../../src/config.js';
import { assert } from '../../src/errors.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { rank } from '../../src/search/rank.js';
import { searchMany } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { affineParameters } from '../../src/search/pairs/affine.js';
import type { Bench } from '../main.js';
import { readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { timePeers } from './peers.js';
import { median, percentile } from '../tools/statistics.js';

/*
 * How long does one query take, and how many queries can be answered, for databases of growing size? Latency is that of
 * POST /v1/homology over loopback with distinct queries. The overhead is the latency minus the time of encoder and
 * kernels alone on the same queries.
 */

const QUERY_COUNT = 24;
const QUERY_RESIDUES = 300;
const LIMIT = 100;
const SHARES = [1 / 16, 1 / 4, 1];

interface Figures {
  readonly targets: number;
  readonly residues: number;
  readonly http_p50_ms: number;
  readonly http_p95_ms: number;
  readonly encode_ms: number;
  readonly kernels_ms: number;
  readonly overhead_ms: number;
  readonly queries_per_second: number;
}

export const run: Bench = async (options) => {
  const proteins = await readProteins(options[0]);
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-search-'));
  const appliance = await openAppliance(
    loadConfig({
      ...process.env,
      GLOAMING_INDEXES: join(folder, 'i'),
      GLOAMING_DATA: join(folder, 'd'),
      GLOAMING_PORT: '0',
    }),
  );
  try {
    const queries = pickQueries(proteins.list);
    const sizes: Figures[] = [];
    const { encoder } = appliance.config;
    console.log(
      `${proteins.source}; queries of about ${QUERY_RESIDUES} residues, limit ${LIMIT}, encoder ${encoder}`,
    );
    console.log('  targets   residues   http p50   http p95    encode   kernels  overhead   queries/s');
    for (const share of SHARES) {
      const targets = withQueries(proteins.list, queries, Math.floor(proteins.list.length * share));
      const figures = await measure(appliance, targets, queries, folder);
      sizes.push(figures);
      console.log(row(figures));
    }
    const peers = await timePeers(proteins.list, queries, folder, sizes.at(-1)!.queries_per_second);
    return {
      source: proteins.source,
      encoder: appliance.config.encoder,
      kernels: appliance.backend.variant,
      sizes,
      peers,
    };
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

/** The proteins with lengths closest to the configured query length. */
function pickQueries(list: readonly BenchProtein[]): readonly BenchProtein[] {
  const distance = ({ sequence }: BenchProtein): number => Math.abs(sequence.length - QUERY_RESIDUES);
  return [...list].sort((a, b) => distance(a) - distance(b)).slice(0, QUERY_COUNT);
}

/** The first `count` proteins with the queries among them, so that every query finds itself. */
function withQueries(
  list: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  count: number,
): readonly BenchProtein[] {
  const queryIds = new Set(queries.map(({ id }) => id));
  return [...queries, ...list.filter(({ id }) => !queryIds.has(id))].slice(
    0,
    Math.max(count, queries.length),
  );
}

async function measure(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  queries: readonly BenchProtein[],
  folder: string,
): Promise<Figures> {
  const slug = `bench-${targets.length}`;
  const engine = await build(appliance, targets, slug, folder);
  const { http } = await timeHttp(appliance, slug, queries);
  const { encode, kernels } = await timeAlone(engine, queries);
  const startedAt = performance.now();
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: LIMIT,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: 'not_requested',
  } as const;
  const proteinQueries = queries.map(({ sequence }) => ({ sequence, normalizationId: 'bench' }));
  await searchMany(proteinQueries, settings, engine);
  const seconds = (performance.now() - startedAt) / 1000;
  return {
    targets: targets.length,
    residues: engine.release.manifest.counts.residues,
    http_p50_ms: median(http),
    http_p95_ms: percentile(http, 0.95),
    encode_ms: median(encode),
    kernels_ms: median(kernels),
    overhead_ms: median(http) - median(encode) - median(kernels),
    queries_per_second: queries.length / seconds,
  };
}

async function build(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
): Promise<SearchEngine> {
  const fasta = join(folder, `${slug}.fasta`);
  await writeFasta(fasta, targets);
  const encoder = await appliance.loadEncoder(appliance.config.encoder);
  const input = await filesInput({ proteins: [fasta] });
  const { release } = await buildRelease({
    indexesFolder: appliance.config.indexesFolder,
    slug,
    input,
    encoder,
  });
  await encoder.close();
  await appliance.releases.publish({
    id: release.id,
    slug,
    publishedAt: new Date().toISOString(),
    manifest: release.manifest,
  });
  return appliance.engines.open(release.id);
}

async function timeHttp(
  appliance: Appliance,
  slug: string,
  queries: readonly BenchProtein[],
): Promise<{ readonly http: readonly number[] }> {
  const server = await serve(appliance, pino({ level: 'silent' }));
  const { key } = await appliance.keys.create('bench', 'default');
  const http: number[] = [];
  for (const [at, { id, sequence }] of queries.entries()) {
    const startedAt = performance.now();
    const response = await fetch(`${server.url}/v1/homology`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query: { kind: 'protein_sequence', sequence }, database: slug, limit: LIMIT }),
    });
    const body = (await response.json()) as { candidates: { target: { id: string; sequence: string } }[] };
    const elapsed = performance.now() - startedAt;
    const first = body.candidates[0].target;
    assert(first.id === id || first.sequence === sequence, `query ${id} finds itself first`);
    // The first query opens the release and warms the encoder.
    if (at > 0) http.push(elapsed);
  }
  await server.stop(1_000);
  return { http };
}

/** Times encoder and kernels alone on the same queries, the lower bound for any shell. */
async function timeAlone(
  { encoder, backend, store, release, threads }: SearchEngine,
  queries: readonly BenchProtein[],
): Promise<{ readonly encode: readonly number[]; readonly kernels: readonly number[] }> {
  const encode: number[] = [];
  const kernels: number[] = [];
  for (const { sequence } of queries.slice(1)) {
    const startedAt = performance.now();
    const [tokens] = await encoder.encode([sequence]);
    const encodedAt = performance.now();
    const [sums] = await backend.maxsim(store, [tokens], undefined, { threads });
    const comparedAt = performance.now();
    // Ranking is not a kernel and counts as overhead.
    const ranked = await rank({ sums, targets: undefined }, tokens.length, release, LIMIT);
    const targets = Uint32Array.from(ranked, ({ targetIndex }) => targetIndex);
    const rankedAt = performance.now();
    const parameters = affineParameters(release, { sequence, tokens }, targets);
    await backend.affineScores(store, tokens, targets, parameters, { threads });
    encode.push(encodedAt - startedAt);
    kernels.push(performance.now() - rankedAt + comparedAt - encodedAt);
  }
  return { encode, kernels };
}

function row(figures: Figures): string {
  const ms = (value: number): string => `${value.toFixed(1)} ms`.padStart(10);
  return (
    `${String(figures.targets).padStart(9)} ${String(figures.residues).padStart(10)} ${ms(figures.http_p50_ms)} ` +
    `${ms(figures.http_p95_ms)}${ms(figures.encode_ms)}${ms(figures.kernels_ms)}${ms(figures.overhead_ms)} ` +
    figures.queries_per_second.toFixed(1).padStart(11)
  );
}
