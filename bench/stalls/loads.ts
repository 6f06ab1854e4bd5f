import { createHash, randomFillSync } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '../../src/errors.js';
import { uploadFile } from '../storage/client.js';
import { HOSTILE_LOADS } from './hostile-loads.js';
import type { Load, LoadScene } from './load.js';
import { askPostgres, askSql, call, completeRun, createSqlLogin } from './client.js';

const ARROW = 'application/vnd.apache.arrow.stream';
const MEBIBYTE = 1024 * 1024;
/** Candidates of a direct answer and of a retained run: the largest permitted numbers. */
const DIRECT_CANDIDATES = 5_000;
const RETAINED_CANDIDATES = 10_000;
const BATCH_QUERIES = 200;
const UPLOAD_PARTS_AT_ONCE = 4;

const WIDE_ROW = `SELECT repeat('x', 10_000_000) AS wide`;
const LONG_ROW = `SELECT list_transform(range(1_000_000), n -> n * 3) AS long`;
const MANY_ROWS = `SELECT n, repeat('y', 400) AS padding FROM range(30_000) AS t(n)`;

export const LOADS: readonly Load[] = [
  { name: 'nothing', prepare: () => Promise.resolve(() => seconds(5)) },
  sqlLoad('a SQL row of 10 MB, JSON', WIDE_ROW, 'application/json'),
  sqlLoad('a SQL row of 10 MB, Arrow', WIDE_ROW, ARROW),
  postgresLoad('a SQL row of 10 MB, PostgreSQL', WIDE_ROW),
  sqlLoad('a SQL list of 1,000,000 numbers, JSON', LONG_ROW, 'application/json'),
  sqlLoad('30,000 SQL rows, 12 MB, JSON', MANY_ROWS, 'application/json'),
  sqlLoad('30,000 SQL rows, 12 MB, Arrow', MANY_ROWS, ARROW),
  postgresLoad('30,000 SQL rows, 12 MB, PostgreSQL', MANY_ROWS),
  directLoad('5,000 aligned candidates', 'new'),
  directLoad('5,000 aligned candidates, cached', 'cached'),
  directLoad('5,000 aligned candidates, kept for retries', 'kept'),
  {
    name: 'a run of 10,000 aligned candidates',
    prepare: (scene) => Promise.resolve(async () => void (await searchRun(scene, 0))),
  },
  { name: 'pages of 1,000 results', prepare: pages },
  exportLoad('parquet'),
  exportLoad('arrow'),
  exportLoad('tsv'),
  {
    name: 'a batch of 200 queries, 100 aligned each',
    prepare: (scene) => Promise.resolve(() => batch(scene)),
  },
  { name: 'a body of 35 MB, 100,000 queries', prepare: (scene) => largeRequest(scene, asQueries) },
  { name: 'a body of 35 MB, FASTA', prepare: (scene) => largeRequest(scene, asFasta) },
  { name: 'a body of 35 MB, refused', prepare: refusedRequest },
  { name: 'an upload', prepare: upload },
  ...HOSTILE_LOADS,
];

const REPEATS = 3;

function sqlLoad(name: string, sql: string, accept: string): Load {
  const body = { sql, limit: 100_000 };
  return {
    name,
    async prepare(scene) {
      const login = await createSqlLogin(scene);
      await askSql(scene, login, { sql: 'SELECT 1' }, accept);
      return async () => {
        for (let repeat = 0; repeat < REPEATS; repeat += 1) {
          const { length } = await askSql(scene, login, body, accept);
          assert(length > 5_000_000, 'the whole answer comes');
        }
      };
    },
  };
}

function postgresLoad(name: string, sql: string): Load {
  return {
    name,
    async prepare(scene) {
      const login = await createSqlLogin(scene);
      await askPostgres(scene, login, 'SELECT 1');
      return async () => {
        for (let repeat = 0; repeat < REPEATS; repeat += 1) {
          assert((await askPostgres(scene, login, sql)) > 5_000_000, 'the whole answer comes');
        }
      };
    },
  };
}

function directLoad(name: string, kind: 'new' | 'cached' | 'kept'): Load {
  return {
    name,
    async prepare(scene) {
      const ask = (index: number): Promise<Buffer> => {
        const query = { kind: 'protein_sequence', sequence: scene.proteins[index].sequence };
        const body = { query, limit: DIRECT_CANDIDATES, evidence: 'pairwise_sequence_alignment' };
        const headers: Record<string, string> = kind === 'kept' ? { 'Idempotency-Key': `kept-${index}` } : {};
        return call(scene, { method: 'POST', path: '/v1/homology', body, headers });
      };
      await ask(0);
      return async () => {
        for (let repeat = 0; repeat < REPEATS; repeat += 1) {
          assert((await ask(kind === 'cached' ? 0 : repeat + 1)).length > MEBIBYTE, 'the whole answer comes');
        }
      };
    },
  };
}

async function searchRun(scene: LoadScene, index: number): Promise<string> {
  const query = { kind: 'protein_sequence', sequence: scene.proteins[index].sequence };
  const input = { query, limit: RETAINED_CANDIDATES, evidence: 'pairwise_sequence_alignment' };
  return (await completeRun(scene, 'homology.search', input)).id;
}

function exportLoad(format: string): Load {
  return {
    name: `an export of 10,000 rows, ${format}`,
    async prepare(scene) {
      const runId = await searchRun(scene, 0);
      return async () => {
        for (let repeat = 0; repeat < REPEATS; repeat += 1) {
          await completeRun(scene, 'homology.export', { run_id: runId, format });
        }
      };
    },
  };
}

/** Reads all results of a run page by page. */
async function pages(scene: LoadScene): Promise<() => Promise<void>> {
  const runId = await searchRun(scene, 0);
  return async () => {
    for (let cursor = ''; ;) {
      const path = `/v1/runs/${runId}/results?limit=1000${cursor}`;
      const page = await call(scene, { method: 'GET', path });
      const next = /"next_cursor":"([^"]+)"/.exec(page.toString('latin1'))?.[1];
      if (next === undefined) return;
      cursor = `&cursor=${next}`;
    }
  };
}

interface LargeQuery {
  readonly id: string;
  readonly sequence: string;
}

function largeQueries({ proteins }: LoadScene): readonly LargeQuery[] {
  return Array.from({ length: 100_000 }, (_, at) => {
    const { sequence } = proteins[at % proteins.length];
    return { id: `q${at}`, sequence: sequence.padEnd(300, 'A').slice(0, 300) };
  });
}

function asQueries(queries: readonly LargeQuery[]): object {
  return { queries };
}

function asFasta(queries: readonly LargeQuery[]): object {
  return { fasta: queries.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join('') };
}

/** Submits a run and cancels it before it starts. */
async function largeRequest(
  scene: LoadScene,
  inputOf: (queries: readonly LargeQuery[]) => object,
): Promise<() => Promise<void>> {
  const body = textOf({ ...inputOf(largeQueries(scene)), limit: 1 });
  return async () => {
    const headers = { Prefer: 'respond-async' };
    const answer = await call(scene, { method: 'POST', path: '/v1/runs', body, headers });
    const { data } = JSON.parse(String(answer)) as { readonly data: { readonly id: string } };
    await call(scene, { method: 'POST', path: `/v1/runs/${data.id}/cancel` });
  };
}

/** A body that is valid up to a duplicate member at its end. */
async function refusedRequest(scene: LoadScene): Promise<() => Promise<void>> {
  const body = textOf({ queries: largeQueries(scene) }).replace(/\}$/, ',"endpoint":""}');
  return async () => {
    const refusal = await call(scene, { method: 'POST', path: '/v1/runs', body }, 400);
    assert(String(refusal).includes('invalid_json'), 'it is refused for its JSON');
  };
}

function textOf(input: object): string {
  return JSON.stringify({ endpoint: 'homology.batch_search', input });
}

async function batch(scene: LoadScene): Promise<void> {
  const queries = scene.proteins.slice(0, BATCH_QUERIES).map(({ id, sequence }) => ({ id, sequence }));
  const input = { queries, limit: 100, evidence: 'pairwise_sequence_alignment' };
  await completeRun(scene, 'homology.batch_search', input);
}

async function upload(scene: LoadScene): Promise<() => Promise<void>> {
  const path = join(scene.folder, 'source');
  const file = await open(path, 'w');
  const hash = createHash('sha256');
  const block = randomFillSync(Buffer.allocUnsafe(MEBIBYTE));
  for (let written = 0; written < scene.uploadMebibytes; written += 1) {
    block.writeUInt32BE(written);
    hash.update(block);
    await file.write(block);
  }
  await file.close();
  const sizeBytes = scene.uploadMebibytes * MEBIBYTE;
  const digest = hash.digest('hex');
  return async () => {
    await uploadFile(scene, path, sizeBytes, digest, UPLOAD_PARTS_AT_ONCE);
    await rm(path);
  };
}

function seconds(count: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, count * 1_000));
}
