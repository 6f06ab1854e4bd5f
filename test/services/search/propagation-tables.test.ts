import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { runProgram } from '../../tools/served-process.js';
import { PROGRAM } from '../../tools/paths.js';
import { askSql, createCredential } from '../../tools/sql-client.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Propagated hits in the files of exports, in SQL, and in batches of the command line. */

const SETTINGS = { limit: 5, evidence: 'pairwise_sequence_alignment', propagation: 'required' };
const QUERIES = [4, 5, 6];
const SOON = { timeout: 60_000, interval: 500 };

let bench: Bench;
let serving: Serving;
/** Rows of a batch, one for each query. */
let rows: readonly Json[];
let batchId: string;
let single: Json;

beforeAll(async () => {
  bench = await buildBench(120);
  const environment = { ...process.env, ...bench.environment };
  for (const words of [
    ['calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification'],
    ['neighbours', DEMO_SLUG],
    ['propagation', DEMO_SLUG, '--sample', '100'],
  ]) {
    await promisify(execFile)(process.execPath, [PROGRAM, 'index', ...words], { env: environment });
  }
  serving = await bench.start();
  const queries = QUERIES.map((at) => ({ id: `q${at}`, sequence: sequenceAt(at) }));
  ({ id: batchId } = await run('homology.batch_search', { queries, ...SETTINGS }));
  ({ data: rows } = (await serving.call('GET', `/v1/runs/${batchId}/results`)).body);
  const query = { kind: 'protein_sequence', sequence: sequenceAt(5) };
  single = await run('homology.search', { query, ...SETTINGS });
}, 400_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const sequenceAt = (at: number): string => bench.sequences[at].slice(4);

async function run(endpoint: string, input: Json): Promise<Json> {
  const { status, body } = await serving.call('POST', '/v1/runs', {
    body: { endpoint, input, background: false },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.data.status, JSON.stringify(body.data.error)).toBe('completed');
  return body.data;
}

async function exported(input: Json): Promise<{ readonly summary: Json; readonly path: string }> {
  const { summary } = (await run('homology.export', input)).result;
  const at = encodeURIComponent(summary.file.url);
  const signed = await serving.call('POST', `/v1/storage/file-signed-urls?url=${at}`, { body: {} });
  const path = join(bench.folder, summary.file.path.replaceAll('/', '-'));
  writeFileSync(path, Buffer.from(await (await fetch(signed.body.data.url)).arrayBuffer()));
  return { summary, path };
}

const COLUMNS =
  'query_index, target_id, rank, propagation_expected_false_hits, propagation_bridge, ' +
  'propagation_joint_expected_false_hits';

type Cell = string | number | null;

/** Query, target, rank, E-value of the walk, bridge and joint E-value of each row of a Parquet file. */
async function readParquet(path: string): Promise<readonly (readonly Cell[])[]> {
  const database = await (await DuckDBInstance.create(':memory:')).connect();
  const read = await database.runAndReadAll(`select ${COLUMNS} from read_parquet('${path}')`);
  return read
    .getRows()
    .map((row) => row.map((cell) => (typeof cell === 'bigint' ? Number(cell) : cell) as Cell));
}

/** The rows that a table of one answer has: candidates by rank, then the further hits by E-value. */
function expectedOf({ candidates, propagation }: Json, index: number): readonly (readonly Cell[])[] {
  const hits = new Map<string, Json>(propagation.hits.map((hit: Json) => [hit.target_id, hit]));
  const cellsOf = (id: string, direct = Infinity): readonly Cell[] => {
    const hit = hits.get(id);
    // Joint: the smaller of the walk's E-value and ten times the direct one.
    const joint = Math.min(direct + Math.log(10), hit?.log_expected_false_hits ?? Infinity);
    return [hit?.expected_false_hits ?? null, hit?.bridge?.target_id ?? null, Math.exp(joint)];
  };
  return [
    ...candidates.map(({ target, rank, significance }: Json) => [
      index,
      target.id,
      rank,
      ...cellsOf(target.id, significance.measurements.log_expected_false_hits),
    ]),
    ...propagation.hits
      .filter(({ is_candidate: isCandidate }: Json) => !isCandidate)
      .map((hit: Json) => [index, hit.target_id, null, ...cellsOf(hit.target_id)]),
  ];
}

const expectedRows = (): readonly (readonly Cell[])[] => rows.flatMap(expectedOf);

describe('an export of a propagated run', () => {
  it('has a row for each candidate and each further hit of a batch, as Parquet', async () => {
    const { path, summary } = await exported({ run_id: batchId, format: 'parquet' });
    expect(await readParquet(path)).toEqual(expectedRows());
    expect(expectedRows().some((cells) => cells[2] === null)).toBe(true);
    expect(summary).toMatchObject({ record_count: expectedRows().length, omitted_count: 0 });
  });

  it('has those of a single query, and leaves out what its cut-offs leave out', async () => {
    const largest = 1e-3;
    const input = { run_id: single.id, format: 'parquet', maximum_expected_false_hits: largest };
    const { path } = await exported(input);
    const { body: page } = await serving.call('GET', `/v1/runs/${single.id}/results`);
    const { propagation } = single.result.summary;
    const passing = {
      candidates: page.data.filter(
        ({ significance }: Json) => significance.measurements.expected_false_hits <= largest,
      ),
      propagation: {
        hits: propagation.hits.filter((hit: Json) => hit.expected_false_hits <= largest),
      },
    };
    expect(passing.propagation.hits.length).toBeLessThan(propagation.hits.length);
    // A hit that passes by the walk alone keeps its row, although its candidate does not pass.
    const [read, expected] = [await readParquet(path), expectedOf(passing, 0)];
    expect(read.map(([, target]) => target)).toEqual([
      ...passing.candidates.map(({ target }: Json) => target.id),
      ...passing.propagation.hits
        .map((hit: Json) => hit.target_id)
        .filter((id: string) => !passing.candidates.some(({ target }: Json) => target.id === id)),
    ]);
    expect(read.slice(0, passing.candidates.length)).toEqual(expected.slice(0, passing.candidates.length));
  });

  it('has three more columns as TSV, which a run without propagation has not', async () => {
    const { path } = await exported({ run_id: batchId, format: 'tsv' });
    const [head, ...lines] = readFileSync(path, 'utf8').slice(0, -1).split('\n');
    expect(head.split('\t').slice(-3)).toEqual([
      'propagation.expected_false_hits',
      'propagation.bridge',
      'propagation.joint_expected_false_hits',
    ]);
    expect(lines).toHaveLength(expectedRows().length);
    const { propagation: _, ...settings } = SETTINGS;
    const plain = await run('homology.batch_search', { queries: [{ sequence: sequenceAt(5) }], ...settings });
    const { path: bare } = await exported({ run_id: plain.id, format: 'tsv' });
    expect(readFileSync(bare, 'utf8').split('\n')[0]).not.toContain('propagation');
  });
});

describe('SQL', () => {
  it('has the propagated hits among the candidates of a run', async () => {
    const { url } = serving.server;
    const credential = await createCredential({ url }, bench.keys.lab);
    const sql = `SELECT ${COLUMNS} FROM candidates WHERE run_id = $1`;
    const ask = async (id: string): Promise<ReadonlySet<string>> => {
      const { rows: found } = await askSql({ url }, credential, sql, { parameters: [id] });
      return new Set(found.map((cells) => JSON.stringify(cells)));
    };
    const asSet = (expected: readonly (readonly Cell[])[]) =>
      new Set(expected.map((cells) => JSON.stringify(cells)));
    await expect.poll(() => ask(batchId), SOON).toEqual(asSet(expectedRows()));
    const { body: page } = await serving.call('GET', `/v1/runs/${single.id}/results`);
    const { propagation } = single.result.summary;
    expect(await ask(single.id)).toEqual(asSet(expectedOf({ candidates: page.data, propagation }, 0)));
  });
});

describe('gloaming batch search --propagation', () => {
  it('writes the rows of a run, the same bytes for one partition and for three', async () => {
    const fasta = join(bench.folder, 'propagated.fasta');
    writeFileSync(fasta, QUERIES.map((at) => `>q${at}\n${sequenceAt(at)}\n`).join(''));
    const files = await Promise.all(
      ['1', '3'].map(async (parts) => {
        const output = join(bench.folder, `propagated-${parts}.parquet`);
        const words = ['batch', 'search', fasta, '-d', DEMO_SLUG, '-o', output, '--parts', parts];
        const printed = await runProgram(bench.environment, [...words, '--propagation', '--limit', '5']);
        expect(printed).toMatchObject({ code: 0 });
        return { bytes: readFileSync(output), output };
      }),
    );
    expect(files[0].bytes.equals(files[1].bytes)).toBe(true);
    expect(await readParquet(files[0].output)).toEqual(expectedRows());
  }, 120_000);

  it.each([
    ['--evidence', 'candidate_measurement'],
    ['--significance', 'not_requested'],
    ['--database-size', '1000'],
  ])('refuses %s, with which no walk starts', async (...words) => {
    const output = join(bench.folder, 'refused.parquet');
    const command = [
      'batch',
      'search',
      'none.fasta',
      '-d',
      DEMO_SLUG,
      '-o',
      output,
      '--propagation',
      ...words,
    ];
    expect(await runProgram(bench.environment, command)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--propagation starts from alignments'),
    });
  });
});
