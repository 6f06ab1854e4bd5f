import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { runProgram, type Printed } from '../../tools/served-process.js';

/* E-values of a given database size: over HTTP, in runs and on the command line. */

const PROTEINS = 120;
const SIZE = 1_000_000;

let bench: Bench;
let serving: Serving;
let fasta: string;

const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(bench.environment, words);

const askedFor = (members: Json): Json => ({
  query: { kind: 'protein_sequence', sequence: bench.sequences[5].slice(4) },
  limit: 30,
  ...members,
});

const ask = (members: Json = {}) => serving.call('POST', '/v1/homology', { body: askedFor(members) });

const judgedIn = ({ candidates }: Json): Json[] =>
  candidates.map(({ significance }: Json) => significance.measurements);

/** Everything of a candidate that a database size does not change. */
const unchanging = ({ candidates, result_sha256: digest }: Json): Json => ({
  digest,
  candidates: candidates.map(({ significance, ...others }: Json) => {
    const { bit_score, pair_tail_probability, q_value, searched_sequence_count } = significance.measurements;
    return { ...others, bit_score, pair_tail_probability, q_value, searched_sequence_count };
  }),
});

beforeAll(async () => {
  bench = await buildBench(PROTEINS);
  serving = await bench.start();
  fasta = join(bench.folder, 'queries.fasta');
  writeFileSync(fasta, `>one\n${bench.sequences[5].slice(4)}\n>two\n${bench.sequences[9]}\n`);
}, 120_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

describe('a database size', () => {
  it('is refused before any work while the release has no E-values', async () => {
    const { status, body } = await ask({ database_size: SIZE });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'significance_unavailable', param: 'database_size' });
    const size = ['--database-size', String(SIZE)];
    const searched = await gloaming('search', fasta, '-d', DEMO_SLUG, ...size);
    expect(searched).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Calibrate') });
    const output = join(bench.folder, 'refused.parquet');
    expect((await gloaming('batch', 'search', fasta, '-d', DEMO_SLUG, '-o', output, ...size)).code).toBe(2);
    expect([existsSync(output), existsSync(`${output}.work`)]).toEqual([false, false]);
    const words = ['--full', '--sample', String(PROTEINS), '--no-qualification'];
    expect((await gloaming('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
  }, 180_000);

  it('scales E-values by its ratio to the searched proteins, and changes neither ranks nor bit scores', async () => {
    const [{ body: plain }, { body: scaled }] = [await ask(), await ask({ database_size: SIZE })];
    expect(plain.database.searched_target_count).toBe(PROTEINS);
    expect(unchanging(scaled)).toEqual(unchanging(plain));
    const before = judgedIn(plain);
    expect(before.length).toBe(30);
    for (const [at, after] of judgedIn(scaled).entries()) {
      const ratio = after.expected_false_hits / before[at].expected_false_hits;
      expect(ratio / (SIZE / PROTEINS)).toBeCloseTo(1, 10);
      const chance = 1 - Math.exp(-after.expected_false_hits);
      expect(after.family_wise_exceedance_probability).toBeCloseTo(chance, 10);
      expect(after.e_value_supported_log_maximum).toBeCloseTo(Math.log(SIZE), 12);
    }
    expect(plain.evidence_summary.significance).not.toHaveProperty('database_size');
    expect(scaled.evidence_summary.significance.database_size).toBe(SIZE);
  });

  it('of the searched proteins gives the E-values of a search without it', async () => {
    const [{ body: plain }, { body: same }] = [await ask(), await ask({ database_size: PROTEINS })];
    expect(same.candidates).toEqual(plain.candidates);
  });

  it('is a parameter of the receipt, so that answers with it have another one', async () => {
    const [{ body: plain }, { body: scaled }] = [await ask(), await ask({ database_size: SIZE })];
    expect(scaled.receipt.id).not.toBe(plain.receipt.id);
    const read = await serving.call('GET', `/v1/receipts/${scaled.receipt.id}`);
    expect(read.body.data.content.parameters.database_size).toBe(SIZE);
    expect(await gloaming('verify', scaled.receipt.id)).toMatchObject({ code: 0 });
  });

  it.each([0, 1.5, 1e13, '1000'])('of %s is refused by the schema', async (size) => {
    const { status, body } = await ask({ database_size: size });
    expect(status).toBe(422);
    expect(JSON.stringify(body)).toContain('database_size');
    expect((await gloaming('search', fasta, '--database-size', `${size}x`)).stderr).toContain('from 1 to');
  });

  it.each([
    ['significance_unavailable', { significance: 'not_requested' }],
    ['propagation_unavailable', { propagation: 'required', evidence: 'pairwise_sequence_alignment' }],
  ])('is refused as %s with %j', async (code, members) => {
    const { status, body } = await ask({ database_size: SIZE, ...members });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code, param: 'database_size' });
  });

  it('gives the rows of runs the E-values of the direct route', async () => {
    const { body: direct } = await ask({ database_size: SIZE });
    const rowsOf = async (endpoint: string, input: Json): Promise<Json[]> => {
      const headers = { Prefer: 'wait=30' };
      const { body } = await serving.call('POST', '/v1/runs', { body: { endpoint, input }, headers });
      expect(body.data.status).toBe('completed');
      return (await serving.call('GET', `/v1/runs/${body.data.id}/results`)).body.data;
    };
    const input = askedFor({ database_size: SIZE });
    expect(await rowsOf('homology.search', input)).toEqual(direct.candidates);
    const { query, ...settings } = input;
    const [row] = await rowsOf('homology.batch_search', {
      queries: [{ sequence: query.sequence }],
      ...settings,
    });
    expect(row.candidates).toEqual(direct.candidates);
    expect(row.evidence_summary.significance.database_size).toBe(SIZE);
  }, 60_000);

  it('scales the E-values of the command line, and its table names the size', async () => {
    const search = (...words: string[]) =>
      gloaming('search', fasta, '-d', DEMO_SLUG, '--limit', '30', ...words);
    const [line] = (
      await search('--format', 'json', '--sort', 'rank', '--database-size', String(SIZE))
    ).stdout.split('\n');
    const { body: direct } = await ask({ database_size: SIZE });
    const logsOf = (answer: Json) => judgedIn(answer).map((one) => one.log_expected_false_hits);
    expect(logsOf(JSON.parse(line) as Json)).toEqual(logsOf(direct));
    const { stdout } = await search('--database-size', String(SIZE));
    expect(stdout).toContain('The E-values are those of a database of 1,000,000 proteins');
  }, 60_000);

  it('of the searched proteins leaves a batch as it is to the byte, and another size does not', async () => {
    const batch = async (name: string, ...words: string[]): Promise<Buffer> => {
      const output = join(bench.folder, name);
      const done = await gloaming('batch', 'search', fasta, '-d', DEMO_SLUG, '-o', output, ...words);
      expect(done).toMatchObject({ code: 0 });
      return readFileSync(output);
    };
    const plain = await batch('plain.parquet');
    expect((await batch('same.parquet', '--database-size', String(PROTEINS))).equals(plain)).toBe(true);
    expect((await batch('scaled.parquet', '--database-size', String(SIZE))).equals(plain)).toBe(false);
  }, 60_000);
});
