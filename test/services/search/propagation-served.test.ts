import { execFile } from 'node:child_process';
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
