import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { runProgram, type Printed } from '../../tools/served-process.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Runs that annotate proteins with domains. */

/** The null model of so few simulated proteins gives no small E-values. */
const E_VALUE = 1e3;
const PROTEINS = 70;

let bench: Bench;
let serving: Serving;
let queries: readonly { readonly id: string; readonly sequence: string }[];

const gloaming = (...words: readonly string[]): Promise<Printed> => runProgram(bench.environment, words);

beforeAll(async () => {
  bench = await buildBench(120);
  serving = await bench.start();
  queries = Array.from({ length: PROTEINS }, (_, at) => ({
    id: `protein${at}`,
    sequence: bench.sequences[at] + bench.sequences[at + 30],
  }));
}, 120_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const inputOf = (members: Json = {}): Json => ({
  queries,
  database: DEMO_SLUG,
  maximum_expected_false_hits: E_VALUE,
  limit: 20,
  rounds: 2,
  ...members,
});

const create = (input: Json, wait = 0) =>
  serving.call('POST', '/v1/runs', {
    body: { endpoint: 'homology.annotate', input },
    headers: { Prefer: `wait=${wait}` },
  });

async function finished(id: string): Promise<{ readonly run: Json; readonly rows: readonly Json[] }> {
  const headers = { Prefer: 'wait=60' };
  const { body } = await serving.call('GET', `/v1/runs/${id}`, { headers });
  expect(body.data.status).toBe('completed');
  const rows = (await serving.call('GET', `/v1/runs/${id}/results?limit=1000`)).body.data;
  return { run: body.data, rows };
}

describe('a run that annotates', () => {
  it('is refused while the release has no E-values', async () => {
    const { status, body } = await create(inputOf());
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'significance_unavailable', param: 'input.database' });
    const words = ['--full', '--sample', '120', '--no-qualification'];
    expect((await gloaming('index', 'calibrate', DEMO_SLUG, ...words)).code).toBe(0);
  }, 180_000);

  it('has the domains of the command line, protein by protein, and counts them', async () => {
    const { body } = await create(inputOf());
    const { run, rows } = await finished(body.data.id);
    const fasta = join(bench.folder, 'proteins.fasta');
    writeFileSync(fasta, queries.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
    const output = join(bench.folder, 'domains');
    const words = ['annotate', fasta, '-d', DEMO_SLUG, '-o', output, '--max-evalue', String(E_VALUE)];
    expect(await gloaming(...words, '--limit', '20', '--rounds', '2')).toMatchObject({ code: 0 });
    const [head, ...lines] = readFileSync(join(output, 'domains.tsv'), 'utf8').trimEnd().split('\n');
    const columns = head.split('\t');
    const expected = lines.map((line) => {
      const cells = line.split('\t');
      const cell = (name: string): string => cells[columns.indexOf(name)];
      return ['protein', 'family', 'start', 'end', 'bit_score', 'round'].map(cell);
    });
    const shown = rows.flatMap(({ query_id, domains }) =>
      domains.map(({ family, start, end, bit_score, round }: Json) =>
        [query_id, family.id, start + 1, end, bit_score.toFixed(1), round].map(String),
      ),
    );
    expect(shown.length).toBeGreaterThan(PROTEINS);
    expect(shown).toEqual(expected);
    expect(rows.map(({ query_index: index }) => index)).toEqual(queries.map((_, at) => at));
    expect(run.result.summary).toMatchObject({
      protein_count: PROTEINS,
      domain_count: shown.length,
      annotated_count: rows.filter(({ domains }) => domains.length > 0).length,
    });
  }, 120_000);

  it('goes on after a stop of the server, and gives the same rows', async () => {
    const whole = await finished((await create(inputOf())).body.data.id);
    const { body } = await create(inputOf({ rounds: 2 }));
    const { id } = body.data;
    await expect
      .poll(async () => (await serving.call('GET', `/v1/runs/${id}`)).body.data.progress.done_count, {
        timeout: 30_000,
        interval: 5,
      })
      .toBeGreaterThan(0);
    await serving.stop();
    serving = await bench.start();
    const resumed = await finished(id);
    expect(resumed.rows).toEqual(whole.rows);
    expect(resumed.run.result.summary.result_sha256).toBe(whole.run.result.summary.result_sha256);
  }, 120_000);

  it.each([
    [{ rounds: 0 }, 'validation_failed', 422],
    [{ maximum_expected_false_hits: 0 }, 'validation_failed', 422],
    [{ fasta: '>one\nMKV' }, 'validation_failed', 422],
    [{ queries: [{ sequence: 'MK1' }] }, 'invalid_queries', 422],
    [{ database: 'absent' }, 'database_not_found', 404],
  ])('is refused with %j as %s', async (members, code, refused) => {
    const { status, headers } = await create(inputOf(members));
    expect([status, headers.get('Service-Error-Type')]).toEqual([refused, code]);
  });
});
