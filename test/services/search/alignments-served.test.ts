import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { PROGRAM } from '../../tools/paths.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';

/* Several alignments of one pair over HTTP, in direct answers and in runs. */

let bench: Bench;
let serving: Serving;

beforeAll(async () => {
  bench = await buildBench(120);
  const words = ['index', 'calibrate', DEMO_SLUG, '--full', '--sample', '120', '--no-qualification'];
  const environment = { ...process.env, ...bench.environment };
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], { env: environment });
  serving = await bench.start();
}, 300_000);
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

const HALF = 60;
/** The null model of so few simulated proteins gives no small E-values. */
const EVERY = { maximum_expected_false_hits: 1e5 };

/** A target of the database with its first residues moved to its end. */
function permuted(): string {
  const sequence = bench.sequences.find(({ length }) => length > 3 * HALF)!;
  return sequence.slice(HALF) + sequence.slice(0, HALF);
}

function request(members: Json = {}): Json {
  const query = { kind: 'protein_sequence', sequence: permuted() };
  return { query, limit: 20, evidence: 'pairwise_sequence_alignment', ...members };
}

async function ask(members: Json = {}): Promise<{ readonly status: number; readonly body: Json }> {
  return serving.call('POST', '/v1/homology', { body: request(members) });
}

const nearest = ({ candidates }: Json): Json => candidates[0];

describe('a request with alignments', () => {
  it('gets both parts of a circular permutation, and the same answer besides', async () => {
    const plain = await ask();
    expect(nearest(plain.body)).not.toHaveProperty('alignments');
    const { status, body } = await ask({ alignments: { ...EVERY, maximum_count: 2 } });
    expect(status).toBe(200);
    expect(body.result_sha256).toBe(plain.body.result_sha256);
    const { alignments, is_alignment_limit_reached: isCut, ...rest } = nearest(body);
    expect(rest).toEqual(nearest(plain.body));
    expect(isCut).toBe(true);
    const length = permuted().length;
    expect(alignments.map(({ alignment }: Json) => [alignment.query_start, alignment.target_start])).toEqual([
      [0, HALF],
      [length - HALF, 0],
    ]);
    expect(alignments[0].alignment).toEqual(rest.alignment);
    // In a stretch of its own, half of a permuted protein is less likely by chance than within the whole.
    const ofPair = rest.significance.measurements.expected_false_hits;
    expect(alignments[0].expected_false_hits).toBeLessThan(ofPair);
    expect(alignments[1].expected_false_hits).toBeLessThan(1);
    expect(alignments[1].raw_score).toBeLessThan(alignments[0].raw_score);
  });

  it('has at most the largest number, and says that there are more', async () => {
    const { body } = await ask({ alignments: { ...EVERY, maximum_count: 1 } });
    expect(nearest(body)).toMatchObject({ alignments: [{}], is_alignment_limit_reached: true });
  });

  it('has none above the largest E-value', async () => {
    const { body } = await ask({ alignments: { maximum_expected_false_hits: 1e-300 } });
    expect(nearest(body)).toMatchObject({ alignments: [{}], is_alignment_limit_reached: false });
    const bounds = { maximum_count: 10, maximum_expected_false_hits: 0.01 };
    expect((await ask({ alignments: {} })).body.candidates).toEqual(
      (await ask({ alignments: bounds })).body.candidates,
    );
  });

  it('has the best alone for a pair whose own E-value is above 10 and above the bound', async () => {
    const eValueOf = ({ significance }: Json): number => significance.measurements.expected_false_hits;
    const plain = (await ask({ limit: 100 })).body.candidates.map(eValueOf);
    const bound = Math.max(11, plain.toSorted((a: number, b: number) => a - b)[20]);
    const { body } = await ask({ limit: 100, alignments: { maximum_expected_false_hits: bound } });
    const [near, far] = [true, false].map((isNear) =>
      body.candidates.filter((candidate: Json) => eValueOf(candidate) <= bound === isNear),
    );
    expect(near.some(({ alignments }: Json) => alignments.length > 1)).toBe(true);
    expect(far.length).toBeGreaterThan(20);
    for (const { alignments } of far) expect(alignments.length).toBeLessThanOrEqual(1);
  });

  it.each([
    ['evidence', { evidence: 'candidate_measurement' }],
    ['significance', { significance: 'not_requested' }],
  ])('is refused if its %s leaves out what they need', async (param, members) => {
    const { status, body } = await ask({ alignments: {}, ...members });
    expect(status).toBe(422);
    expect(body.error).toMatchObject({ code: 'significance_unavailable', param });
  });

  it.each([{ maximum_count: 0 }, { maximum_count: 101 }, { maximum_expected_false_hits: 0 }, { other: 1 }])(
    'is refused with %j',
    async (alignments) => {
      expect((await ask({ alignments })).status).toBe(422);
    },
  );

  it('gets the same candidates in a run', async () => {
    const input = request({ alignments: { ...EVERY, maximum_count: 5 } });
    const created = await serving.call('POST', '/v1/runs', {
      body: { endpoint: 'homology.search', input },
      headers: { Prefer: 'wait=60' },
    });
    const id = created.body.data.id;
    const rows = await serving.call('GET', `/v1/runs/${id}/results`);
    expect(nearest({ candidates: rows.body.data })).toEqual(
      nearest((await ask({ alignments: { ...EVERY, maximum_count: 5 } })).body),
    );
  });
});
