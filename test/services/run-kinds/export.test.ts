import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cigarRuns } from '#src/sequence/cigar.js';
import { buildBench, type Answer, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Exports of real runs, read by independent programs. */

const REFORMAT = '/usr/share/hhsuite/scripts/reformat.pl';
const hasHhsuite = existsSync('/usr/bin/hhfilter') && existsSync(REFORMAT);
if (!hasHhsuite) console.log('Skipped: hhsuite (hhfilter, hhmake, reformat.pl) is not installed here.');
const hasBiopython = canImportBiopython();
if (!hasBiopython) console.log('Skipped: python3-biopython is not installed here.');

let bench: Bench;
let serving: Serving;
let search: Json;
let batch: Json;
/** Candidates of the batch, query by query. */
let byQuery: Json[][];

beforeAll(async () => {
  bench = await buildBench();
  serving = await bench.start();
  const evidence = 'pairwise_sequence_alignment';
  const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
  search = await run('homology.search', { query, limit: 60, evidence });
  const queries = bench.sequences.slice(0, 30).map((sequence, at) => ({ id: `query ${at}`, sequence }));
  batch = await run('homology.batch_search', { queries, limit: 20, evidence });
  const { body } = await serving.call('GET', `/v1/runs/${batch.id}/results?limit=1000`);
  byQuery = body.data.map(({ candidates }: Json) => candidates);
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

function canImportBiopython(): boolean {
  try {
    execFileSync('/usr/bin/python3', ['-c', 'import Bio'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const create = (endpoint: string, input: Json, as: 'lab' | 'other' = 'lab'): Promise<Answer> =>
  serving.call('POST', '/v1/runs', { body: { endpoint, input, background: false }, as });

async function run(endpoint: string, input: Json): Promise<Json> {
  const { status, body } = await create(endpoint, input);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

async function refused(input: Json, as: 'lab' | 'other' = 'lab'): Promise<string> {
  const { headers, body } = await create('homology.export', input, as);
  return `${headers.get('Service-Error-Type')}: ${body.error.message}`;
}

/** Exports, and reads the file through a signed URL without credentials. */
async function exported(input: Json): Promise<{ summary: Json; bytes: Buffer; path: string }> {
  const { status, result, error, usage } = await run('homology.export', input);
  expect(status, JSON.stringify(error)).toBe('completed');
  expect(usage.billable_units).toBe(1);
  const { summary } = result;
  const at = encodeURIComponent(summary.file.url);
  const signed = await serving.call('POST', `/v1/storage/file-signed-urls?url=${at}`, { body: {} });
  const response = await fetch(signed.body.data.url);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, summary.file.content_type]);
  const bytes = Buffer.from(await response.arrayBuffer());
  expect(summary.file.size_bytes).toBe(bytes.length);
  expect(summary.file.checksum).toBe(createHash('sha256').update(bytes).digest('hex'));
  const path = join(bench.folder, summary.file.path.replaceAll('/', '-'));
  writeFileSync(path, bytes);
  return { summary, bytes, path };
}

function biopython(kind: 'fasta' | 'a3m' | 'tsv', path: string): Json {
  const script = fileURLToPath(new URL('export-readers.py', import.meta.url));
  return JSON.parse(execFileSync('/usr/bin/python3', [script, kind, path], { encoding: 'utf8' }));
}

const aligned = ({ alignment }: Json): boolean => alignment.cigar !== '';

describe('an export as FASTA', () => {
  it('has every target that a batch found, once, in the order in which it was found', async () => {
    const { summary, bytes } = await exported({ run_id: batch.id, format: 'fasta' });
    const ids = [...bytes.toString().matchAll(/^>(\S+) /gm)].map(([, id]) => id);
    expect(ids).toEqual([...new Set(byQuery.flat().map(({ target }) => target.id))]);
    expect(summary.record_count).toBe(ids.length);
    expect(summary.record_count + summary.omitted_count).toBe(30 * 20);
  });

  it.skipIf(!hasBiopython)('is read by Biopython, with the very sequences', async () => {
    const { path } = await exported({ run_id: batch.id, format: 'fasta' });
    const read = biopython('fasta', path);
    for (const { target } of byQuery.flat()) expect(read[target.id]).toBe(target.sequence);
  });
});

describe('an export as m8', () => {
  it.skipIf(!hasBiopython)('is read by Biopython, with the numbers of the alignments', async () => {
    const { path, summary } = await exported({ run_id: batch.id, format: 'm8' });
    const read = biopython('tsv', path) as Json[];
    const { searched_target_count: searchedCount } = batch.result.summary.database;
    const expected = byQuery.flatMap((candidates, query) =>
      candidates.filter(aligned).map(({ target, alignment, significance }) => {
        const runs = cigarRuns(alignment.cigar);
        const columns = runs.reduce((sum, { length }) => sum + length, 0);
        const equal = runs.reduce((sum, { operation, length }) => sum + (operation === '=' ? length : 0), 0);
        const gaps = runs.filter(({ operation }) => operation === 'I' || operation === 'D');
        return {
          query: `query_${query}`,
          target: target.id,
          identity: Number(((100 * equal) / columns).toFixed(3)),
          columns,
          mismatches: columns - equal - gaps.reduce((sum, { length }) => sum + length, 0),
          gap_openings: gaps.length,
          place: [alignment.query_start, alignment.query_end, alignment.target_start, alignment.target_end],
          // Without a calibration, the number of searched targets is the upper bound.
          e_value: significance.measurements.expected_false_hits ?? searchedCount,
        };
      }),
    );
    const keyOf = ({ query, target }: Json): string => `${query} ${target}`;
    const sorted = (rows: Json[]): Json[] => rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    expect(sorted(read)).toEqual(sorted(expected));
    expect(summary.record_count).toBe(expected.length);
  });

  it('has twelve columns in every line and no line of names', async () => {
    const { bytes } = await exported({ run_id: batch.id, format: 'm8', query_index: 3 });
    const lines = bytes.toString().trimEnd().split('\n');
    expect(lines).toHaveLength(byQuery[3].filter(aligned).length);
    for (const line of lines) expect(line.split('\t')).toHaveLength(12);
    expect(lines.every((line) => line.startsWith('query_3\t'))).toBe(true);
  });
});

/** Settings from which hhfilter -id 95 removes no row. */
const DIVERSE = { minimum_normalized_score: 0, maximum_pairwise_identity_ratio: 0.95 };

describe('an export as A3M', () => {
  const everything = {
    format: 'a3m',
    minimum_query_coverage_ratio: 0,
    msa: { minimum_normalized_score: 0, maximum_pairwise_identity_ratio: 1 },
  };

  it('equals an alignment of the same receipt', async () => {
    const choice = { minimum_normalized_score: 0.02, maximum_pairwise_identity_ratio: 0.9 };
    const { bytes, summary } = await exported({ run_id: search.id, format: 'a3m', msa: choice });
    const { body } = await serving.call('POST', '/v1/sequences/msa/a3m', {
      body: { receipt_id: search.result.summary.receipt.id, ...choice },
    });
    const built = await fetch(`${serving.server.url}/v1/sequences/msa/a3m/${body.data.id}`, {
      headers: { Authorization: `Bearer ${bench.keys.lab}` },
    });
    expect(bytes.toString()).toBe(await built.text());
    expect(summary).toMatchObject({
      record_count: body.data.row_count - 1,
      left_out_count: body.data.filtered_count,
      warnings: body.warnings,
    });
    expect(body.warnings.map(({ code }: Json) => code)).toEqual(['msa_without_e_values']);
    expect(body.data.row_count).toBeGreaterThan(1);
  });

  it('of all queries is a tar of the files of each single query', async () => {
    const { path } = await exported({ run_id: batch.id, format: 'a3m', all_queries: true });
    const list = execFileSync('tar', ['-tf', path], { encoding: 'utf8' }).trimEnd().split('\n');
    expect(list).toEqual(byQuery.map((_, at) => `${at}-query_${at}.a3m`));
    const alone = await exported({ run_id: batch.id, format: 'a3m', query_index: 7 });
    expect(execFileSync('tar', ['-xOf', path, list[7]]).toString()).toBe(alone.bytes.toString());
  });

  it.skipIf(!hasBiopython)(
    'is read by Biopython as an alignment to the query, insertions set aside',
    async () => {
      const { path, summary } = await exported({ ...everything, run_id: batch.id, query_index: 5 });
      const { columns, first_row: first, rows } = biopython('a3m', path);
      expect(first).toBe(bench.sequences[5]);
      expect(columns).toBe(bench.sequences[5].length);
      const [query, ...others] = rows as readonly Json[];
      expect(query.id).toBe('query_5');
      expect(others).toHaveLength(summary.record_count);
      expect(others.some(({ residues, filled }) => residues.length > filled)).toBe(true);
      const byId = new Map(byQuery[5].map((candidate) => [candidate.target.id, candidate]));
      for (const { id, residues, filled } of others) {
        const { target, alignment } = byId.get(id)!;
        // With its insertions, a row is the aligned part of its target; its columns are those that match.
        expect(residues).toBe(target.sequence.slice(alignment.target_start, alignment.target_end));
        const matches = cigarRuns(alignment.cigar).filter(({ operation }) => '=X'.includes(operation));
        expect(filled).toBe(matches.reduce((sum, { length }) => sum + length, 0));
      }
    },
  );

  it.skipIf(!hasHhsuite)('is read by reformat.pl, hhfilter and hhmake', async () => {
    const { path } = await exported({ ...everything, run_id: batch.id, query_index: 5 });
    const tool = (program: string, ...options: string[]): string =>
      execFileSync(program, options, { cwd: bench.folder, encoding: 'utf8', stdio: 'pipe' });
    tool('perl', REFORMAT, 'a3m', 'fas', path, `${path}.fas`, '-r', '-M', 'first');
    const rows = readFileSync(`${path}.fas`, 'utf8')
      .split(/^>/m)
      .slice(1)
      .map((entry) => entry.slice(entry.indexOf('\n')).replaceAll('\n', ''));
    const distinct = new Set(
      readFileSync(path, 'utf8')
        .split(/^>.*\n/m)
        .slice(1),
    );
    expect(rows).toHaveLength(distinct.size);
    expect(rows.length).toBeGreaterThan(0.8 * byQuery[5].filter(aligned).length);
    expect(new Set(rows.map(({ length }) => length))).toEqual(new Set([bench.sequences[5].length]));
    tool('hhfilter', '-i', path, '-o', `${path}.filtered`, '-id', '100', '-diff', '0', '-qid', '0');
    const diverse = await exported({ ...everything, run_id: batch.id, query_index: 5, msa: DIVERSE });
    tool('hhfilter', '-i', diverse.path, '-o', `${path}.kept`, '-id', '95', '-diff', '0', '-qid', '0');
    const count = (text: string): number => text.match(/^>/gm)?.length ?? 0;
    expect(count(readFileSync(`${path}.kept`, 'utf8'))).toBe(count(diverse.bytes.toString()));
    tool('hhmake', '-i', path, '-o', `${path}.hhm`, '-M', 'a2m');
    expect(readFileSync(`${path}.hhm`, 'utf8')).toMatch(
      new RegExp(`^LENG +${bench.sequences[5].length} match states`, 'm'),
    );
  });
});

describe('an export as columns', () => {
  it('is read by DuckDB as Parquet: every candidate of the batch, number for number', async () => {
    const { path, summary } = await exported({ run_id: batch.id, format: 'parquet' });
    const database = await DuckDBInstance.create(':memory:');
    const connection = await database.connect();
    const rows = (
      await connection.runAndReadAll(`SELECT * FROM '${path}' ORDER BY query_index, rank`)
    ).getRowObjects() as Json[];
    expect(rows).toHaveLength(30 * 20);
    expect(summary).toMatchObject({ record_count: 600, omitted_count: 0 });
    for (const [at, candidate] of byQuery.flat().entries()) checkColumns(rows[at], candidate, at);
    const [types] = (
      await connection.runAndReadAll(
        `SELECT typeof(rank) AS rank, typeof(target_id) AS id, typeof(expected_false_hits) AS e FROM '${path}'`,
      )
    ).getRowObjects();
    expect(types).toEqual({ rank: 'BIGINT', id: 'VARCHAR', e: 'DOUBLE' });
    connection.closeSync();
  });

  it('is read by Apache Arrow, with the same columns and rows', async () => {
    const { bytes } = await exported({ run_id: batch.id, format: 'arrow' });
    const rows = tableFromIPC(bytes).toArray() as Json[];
    expect(rows).toHaveLength(30 * 20);
    for (const [at, candidate] of byQuery.flat().entries()) checkColumns(rows[at], candidate, at);
  });

  it('has null where a search without alignments has none', async () => {
    const query = { kind: 'protein_sequence', sequence: bench.sequences[1] };
    const { id } = await run('homology.search', { query, limit: 7 });
    const { bytes } = await exported({ run_id: id, format: 'arrow' });
    const rows = tableFromIPC(bytes).toArray() as Json[];
    expect(rows.map(({ cigar, query_end, rank }) => [cigar, query_end, Number(rank)])).toEqual(
      Array.from({ length: 7 }, (_, at) => [null, null, at + 1]),
    );
  });

  function checkColumns(row: Json, candidate: Json, at: number): void {
    const { target, measurements, alignment, significance } = candidate;
    expect(row).toMatchObject({
      query_index: BigInt(Math.floor(at / 20)),
      query_id: `query ${Math.floor(at / 20)}`,
      rank: BigInt(candidate.rank),
      target_id: target.id,
      target_sequence: target.sequence,
      maxsim_bidirectional: measurements.maxsim.bidirectional,
      affine_raw_score: BigInt(measurements.affine.raw_score),
      cigar: alignment.cigar,
      query_start: BigInt(alignment.query_start),
      target_end: BigInt(alignment.target_end),
      sequence_identity_ratio: alignment.sequence_identity_ratio,
      significance_status: significance.status,
      expected_false_hits: significance.measurements.expected_false_hits ?? null,
    });
    expect(JSON.parse(row.target_attributes)).toEqual(target.attributes);
  }
});

describe('an export', () => {
  it('of the same rows is the same file, whose signed URLs stay valid', async () => {
    const first = await exported({ run_id: batch.id, format: 'parquet', path: 'mine/batch.parquet' });
    const at = encodeURIComponent(first.summary.file.url);
    const signed = await serving.call('POST', `/v1/storage/file-signed-urls?url=${at}`, { body: {} });
    const second = await exported({ run_id: batch.id, format: 'parquet', path: 'mine/batch.parquet' });
    expect(second.summary).toEqual(first.summary);
    expect((await fetch(signed.body.data.url)).status).toBe(200);
  });

  it('of a run without candidates is an empty file', async () => {
    const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
    const filter = { op: 'eq', field: 'organism', value: 'nowhere' };
    const { id } = await run('homology.search', { query, filter, evidence: 'pairwise_sequence_alignment' });
    const { bytes, summary } = await exported({ run_id: id, format: 'm8' });
    expect([bytes.length, summary.record_count]).toEqual([0, 0]);
  });

  it('is refused before it is accepted where it could not be written', async () => {
    const fasta = { run_id: batch.id, format: 'fasta' };
    expect(await refused(fasta, 'other')).toMatch(/^permission_denied/);
    expect(await refused({ ...fasta, run_id: `run_${'0'.repeat(24)}` })).toMatch(/^run_not_found/);
    expect(await refused({ ...fasta, path: '../up' })).toMatch(/^invalid_path/);
    expect(await refused({ ...fasta, path: 'mine' })).toMatch(/^path_conflict/);
    expect(await refused({ ...fasta, query_index: 30 })).toMatch(/^export_not_possible.*index 29/);
    expect(await refused({ run_id: batch.id, format: 'a3m' })).toMatch(/^export_not_possible.*query_index/);
    const query = { kind: 'protein_sequence', sequence: bench.sequences[2] };
    const { id } = await run('homology.search', { query });
    expect(await refused({ run_id: id, format: 'm8' })).toMatch(/^export_not_possible.*evidence/);
    const { id: itself } = await run('homology.export', fasta);
    expect(await refused({ ...fasta, run_id: itself })).toMatch(/^export_not_possible.*no candidates/);
  });

  it('waits for the end of the run that it exports', async () => {
    const queries = bench.sequences.map((sequence) => ({ sequence }));
    const body = { endpoint: 'homology.batch_search', input: { queries: [...queries, ...queries] } };
    const { id } = (await serving.call('POST', '/v1/runs', { body })).body.data;
    expect(await refused({ run_id: id, format: 'fasta' })).toMatch(/^run_not_completed/);
    await serving.call('POST', `/v1/runs/${id}/cancel`);
    expect(await refused({ run_id: id, format: 'fasta' })).toMatch(/^run_not_completed.*cancelled/);
  });

  it('appends the event of its file together with the end of the run', async () => {
    const { summary } = await exported({ run_id: search.id, format: 'fasta', path: 'told.fasta' });
    const file = serving.appliance.store.table<Json>('events');
    const events = [...file.getRange({ start: `${summary.file.file_id} ` }).map(({ value }) => value)];
    expect(
      events.filter(({ subjectId }) => subjectId === summary.file.file_id).map(({ type }) => type),
    ).toEqual(['file.completed']);
  });
});
