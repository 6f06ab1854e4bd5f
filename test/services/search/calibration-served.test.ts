import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { PROGRAM } from '../../tools/paths.js';

/* The command line makes a calibration beside a running server. */

let bench: Bench;
let serving: Serving;

beforeAll(async () => {
  bench = await buildBench(300);
  serving = await bench.start();
});
afterAll(async () => {
  await serving.stop();
  bench.remove();
});

async function calibrate(seed: number): Promise<void> {
  const environment = { ...process.env, ...bench.environment };
  const words = ['index', 'calibrate', DEMO_SLUG, '--seed', String(seed)];
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], { env: environment });
}

async function search(): Promise<Json> {
  const query = { kind: 'protein_sequence', sequence: bench.sequences[0] };
  const body = { query, limit: 10, significance: 'if_available' };
  const { status, body: answer } = await serving.call('POST', '/v1/homology', { body });
  expect(status).toBe(200);
  return answer;
}

const calibrationsOf = ({ candidates }: Json): ReadonlySet<unknown> =>
  new Set(candidates.map(({ significance }: Json) => significance.measurements.calibration_id));

describe('a server over a release that is calibrated while it runs', () => {
  it('uses each new calibration from the next search on, and not its cache', async () => {
    const before = await search();
    expect(calibrationsOf(before)).toEqual(new Set([undefined]));
    expect((await search()).performance.is_cache_hit).toBe(true);
    await calibrate(1);
    const first = await search();
    expect(first.performance.is_cache_hit).toBe(false);
    const [name, ...others] = calibrationsOf(first);
    expect(name).toMatch(/^calib_/);
    expect(others).toEqual([]);
    await calibrate(2);
    const second = await search();
    expect(calibrationsOf(second).size).toBe(1);
    expect(calibrationsOf(second)).not.toEqual(new Set([name]));
    expect((await search()).performance.is_cache_hit).toBe(true);
  }, 180_000);
});
