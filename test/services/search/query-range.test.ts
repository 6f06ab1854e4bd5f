import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { runProgram, type Printed } from '../../tools/served-process.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* A stretch of the query that is searched alone: over HTTP, in runs, and in batches of the command line. */

const START = 20;
const END = 90;
const RANGE = { start: START, end: END };

let bench: Bench;
let serving: Serving;
let whole: string;

beforeAll(async () => {
  bench = await buildBench(60);
  serving = await bench.start();
  whole = bench.sequences.find(({ length }) => length > END + 20)!;
}, 120_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(bench.environment, words);

function asked(members: Json = {}, sequence = whole): Json {
  const query = { kind: 'protein_sequence', sequence };
  return { query, limit: 10, evidence: 'pairwise_sequence_alignment', ...members };
}

const ask = (members: Json = {}, sequence = whole) =>
  serving.call('POST', '/v1/homology', { body: asked(members, sequence) });

async function rowsOf(endpoint: string, input: Json): Promise<Json[]> {
  const headers = { Prefer: 'wait=30' };
  const { body } = await serving.call('POST', '/v1/runs', { body: { endpoint, input }, headers });
  expect(body.data.status).toBe('completed');
  return (await serving.call('GET', `/v1/runs/${body.data.id}/results`)).body.data;
}

describe('a query range', () => {
  it('gives the answer of its residues alone, with positions in the whole query', async () => {
    const { status, body } = await ask({ query_range: RANGE });
    const { body: alone } = await ask({}, whole.slice(START, END));
    expect(status).toBe(200);
    expect(body.result_sha256).toBe(alone.result_sha256);
    expect(body.query).toMatchObject({ normalized_length: whole.length, range: RANGE });
    expect(body.candidates.map(({ measurements }: Json) => measurements)).toEqual(
      alone.candidates.map(({ measurements }: Json) => measurements),
    );
    const moved = alone.candidates.map(({ alignment }: Json) => ({
      ...alignment,
      query_start: alignment.query_start + START,
      query_end: alignment.query_end + START,
      query_length: whole.length,
      query_coverage_ratio: (alignment.query_end - alignment.query_start) / whole.length,
    }));
    expect(body.candidates.map(({ alignment }: Json) => alignment)).toEqual(moved);
  });

  it('is not confused with the whole query by the cache, and is verified from its receipt', async () => {
    const [{ body: all }, { body: stretch }] = [await ask(), await ask({ query_range: RANGE })];
    expect(all.result_sha256).not.toBe(stretch.result_sha256);
    expect(all.query).not.toHaveProperty('range');
    const read = await serving.call('GET', `/v1/receipts/${stretch.receipt.id}`);
    expect(read.body.data.content).toMatchObject({
      query: { sequence: whole },
      parameters: { query_range: RANGE },
    });
    expect(await gloaming('verify', stretch.receipt.id)).toMatchObject({ code: 0 });
  });

  it.each([
    [{ start: 0, end: 65_535 }, 'the query has'],
    [{ start: 30, end: 30 }, 'it is empty'],
  ])('of %j is refused before any work', async (range, message) => {
    const { status, body } = await ask({ query_range: range });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'query_range_invalid', param: 'query_range' });
    expect(body.error.message).toContain(message);
    const run = { endpoint: 'homology.search', input: asked({ query_range: range }) };
    expect((await serving.call('POST', '/v1/runs', { body: run })).body.error.code).toBe(
      'query_range_invalid',
    );
  });

  it('gives the rows of runs the answers of the direct route', async () => {
    const { body: direct } = await ask({ query_range: RANGE });
    const input = asked({ query_range: RANGE });
    expect(await rowsOf('homology.search', input)).toEqual(direct.candidates);
    const { query, ...settings } = input;
    const queries = [{ sequence: query.sequence }];
    const [row] = await rowsOf('homology.batch_search', { queries, ...settings });
    expect(row).toMatchObject({ query: direct.query, result_sha256: direct.result_sha256 });
    expect(row.candidates).toEqual(direct.candidates);
  }, 60_000);

  it('refuses a batch with a query that ends before it, and names the query', async () => {
    const queries = [{ sequence: whole }, { id: 'short', sequence: whole.slice(0, END - 1) }];
    const run = { endpoint: 'homology.batch_search', input: { queries, query_range: RANGE } };
    const { status, body } = await serving.call('POST', '/v1/runs', { body: run });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'invalid_queries' });
    expect(body.error.message).toContain('short has 89 residues');
  });

  it('gives a batch of the command line the same file, however many partitions there are', async () => {
    const fasta = join(bench.folder, 'queries.fasta');
    writeFileSync(fasta, `>one\n${whole}\n>two\n${bench.sequences[3].repeat(3).slice(0, 200)}\n`);
    const filesOf = await Promise.all(
      ['1', '3'].map(async (parts) => {
        const output = join(bench.folder, `${parts}.parquet`);
        const words = ['batch', 'search', fasta, '-d', DEMO_SLUG, '-o', output, '--parts', parts];
        const range = ['--query-range', `${START + 1}-${END}`, '--limit', '10'];
        expect(await gloaming(...words, ...range)).toMatchObject({ code: 0 });
        return readFileSync(output);
      }),
    );
    expect(filesOf[0].equals(filesOf[1])).toBe(true);
    const database = await (await DuckDBInstance.create(':memory:')).connect();
    const path = join(bench.folder, '1.parquet');
    const read = await database.runAndReadAll(
      `select query_start from read_parquet('${path}') where query_id = 'one' order by rank`,
    );
    const { body: direct } = await ask({ query_range: RANGE });
    expect(read.getRows().map(([at]) => Number(at))).toEqual(
      direct.candidates.map(({ alignment }: Json) => alignment.query_start),
    );
  }, 120_000);

  it('is refused by a batch of the command line whose query ends before it, with nothing written', async () => {
    const fasta = join(bench.folder, 'short.fasta');
    writeFileSync(fasta, `>short\n${whole.slice(0, 50)}\n`);
    const output = join(bench.folder, 'short.parquet');
    const words = ['batch', 'search', fasta, '-d', DEMO_SLUG, '-o', output, '--query-range', '20-90'];
    expect(await gloaming(...words)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('short has 50 residues'),
    });
    expect(existsSync(output)).toBe(false);
  });
});
