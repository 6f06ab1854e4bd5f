import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { PROGRAM } from '../../tools/paths.js';

/* Propagation over HTTP, while the command line makes what it needs beside the running server. */

let bench: Bench;
let serving: Serving;

beforeAll(async () => {
  bench = await buildBench(120);
  serving = await bench.start();
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

async function index(...words: readonly string[]): Promise<void> {
  const environment = { ...process.env, ...bench.environment };
  await promisify(execFile)(process.execPath, [PROGRAM, 'index', ...words], { env: environment });
}

/** Executes a run. Returns it with its summary, and its rows. */
async function run(endpoint: string, input: Json): Promise<{ readonly ended: Json; readonly rows: Json[] }> {
  const { status, body } = await serving.call('POST', '/v1/runs', {
    body: { endpoint, input, background: false },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  const { body: page } = await serving.call('GET', `/v1/runs/${body.data.id}/results`);
  return { ended: body.data, rows: page.data };
}

async function ask(members: Json = {}): Promise<{ readonly status: number; readonly body: Json }> {
  const query = { kind: 'protein_sequence', sequence: bench.sequences[5].slice(4) };
  const body = { query, limit: 30, evidence: 'pairwise_sequence_alignment', ...members };
  return serving.call('POST', '/v1/homology', { body });
}

const unchanging = ({ candidates, result_sha256: digest, ranking }: Json): Json => ({
  candidates,
  digest,
  ranking,
});

describe('a request with propagation', () => {
  it('is refused until the release has a graph and a null of walks, and then gets one more member', async () => {
    const bare = await ask({ propagation: 'required' });
    expect(bare.status).toBe(422);
    expect(bare.body.error).toMatchObject({
      code: 'propagation_unavailable',
      message: expect.stringContaining('has no graph of neighbours'),
    });
    await index('calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification');
    await index('neighbours', DEMO_SLUG);
    expect((await ask({ propagation: 'required' })).body.error.message).toContain('has no null of walks');
    await index('propagation', DEMO_SLUG, '--sample', '100');

    const plain = await ask();
    expect(plain.body).not.toHaveProperty('propagation');
    const { status, body } = await ask({ propagation: 'required' });
    expect(status).toBe(200);
    expect(body.propagation.hits.length).toBeGreaterThan(0);
    const logs = body.propagation.hits.map((hit: Json) => hit.log_expected_false_hits);
    expect(logs).toEqual([...logs].sort((a, b) => a - b));
    expect(unchanging(body)).toEqual(unchanging(plain.body));
    expect((await ask({ propagation: 'required' })).body.propagation).toEqual(body.propagation);
  }, 300_000);

  it.each([
    ['evidence', { evidence: 'candidate_measurement' }],
    ['significance', { significance: 'not_requested' }],
  ])('is refused if its %s leaves out what a walk starts from', async (param, members) => {
    const { status, body } = await ask({ propagation: 'required', ...members });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'propagation_unavailable', param });
  });

  it('returns eligible targets only', async () => {
    const filter = { op: 'gte', field: 'length', value: '150' };
    const { body } = await ask({ propagation: 'required', filter });
    const { body: whole } = await ask({ propagation: 'required', filter: undefined, limit: 120 });
    const lengths = new Map(whole.candidates.map(({ target }: Json) => [target.id, target.sequence.length]));
    for (const hit of body.propagation.hits) expect(lengths.get(hit.target_id)).toBeGreaterThanOrEqual(150);
  });
});

describe('a run with propagation', () => {
  const settings = { limit: 30, evidence: 'pairwise_sequence_alignment', propagation: 'required' };
  const sequenceAt = (index: number): string => bench.sequences[index].slice(4);

  it('has the propagated hits of a direct search: in the summary of one query, in each row of a batch', async () => {
    const query = { kind: 'protein_sequence', sequence: sequenceAt(5) };
    const direct = await ask({ propagation: 'required' });
    const single = await run('homology.search', { query, ...settings });
    expect(single.ended.result.summary.propagation).toEqual(direct.body.propagation);
    const queries = [4, 5, 6].map((index) => ({ id: `q${index}`, sequence: sequenceAt(index) }));
    const batch = await run('homology.batch_search', { queries, ...settings });
    expect(batch.rows.map((row) => row.query_id)).toEqual(['q4', 'q5', 'q6']);
    expect(batch.rows[1].propagation).toEqual(direct.body.propagation);
    expect(batch.ended.result.summary).not.toHaveProperty('propagation');
  });

  it('leaves out the propagated hits that its cut-offs leave out', async () => {
    const queries = [{ sequence: sequenceAt(5) }];
    const largest = 1e-3;
    const [row] = (
      await run('homology.batch_search', { queries, ...settings, maximum_expected_false_hits: largest })
    ).rows;
    const { hits } = (await ask({ propagation: 'required' })).body.propagation as Json;
    const passing = hits.filter((hit: Json) => hit.expected_false_hits <= largest);
    expect(passing.length).toBeLessThan(hits.length);
    expect(row.propagation.hits).toEqual(passing);
  });

  it('is refused before it is queued if a walk has no start', async () => {
    const queries = [{ sequence: sequenceAt(5) }];
    const input = { queries, ...settings, evidence: 'candidate_measurement' };
    const body = { endpoint: 'homology.batch_search', input };
    const refused = await serving.call('POST', '/v1/runs', { body });
    expect(refused.status).toBe(422);
    expect(refused.body.error).toMatchObject({ code: 'propagation_unavailable' });
  });

  it('is submitted with --propagation, and its table has a line for each propagated hit', async () => {
    const file = join(bench.folder, 'propagated.fasta');
    const output = join(bench.folder, 'propagated.tsv');
    writeFileSync(file, `>a\n${sequenceAt(5)}\n`);
    const words = ['runs', 'submit', file, '--propagation', '--limit', '30', '-f', 'tsv', '-o', output];
    const environment = { GLOAMING_URL: serving.server.url, GLOAMING_API_KEY: bench.keys.lab };
    await promisify(execFile)(process.execPath, [PROGRAM, ...words], {
      env: { ...process.env, ...bench.environment, ...environment },
    });
    const [header, ...lines] = readFileSync(output, 'utf8')
      .slice(0, -1)
      .split('\n')
      .map((line) => line.split('\t'));
    expect(header.slice(-3)).toEqual([
      'propagation.expected_false_hits',
      'propagation.bridge',
      'propagation.joint_expected_false_hits',
    ]);
    expect(lines.every((cells) => cells.length === header.length)).toBe(true);
    const { propagation, candidates } = (await ask({ propagation: 'required' })).body;
    const reached = lines.filter((cells) => cells.at(-3) !== '').map((cells) => cells[1]);
    expect(new Set(reached)).toEqual(new Set(propagation.hits.map((hit: Json) => hit.target_id)));
    const added = propagation.hits.filter((hit: Json) => !hit.is_candidate).length;
    expect(lines).toHaveLength(candidates.length + added);
  });
});
