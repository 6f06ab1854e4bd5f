// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runPhase } from '#src/fit-significance/checkpoints.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-journal-'));
afterAll(() => rmSync(folder, { recursive: true }));
const path = join(folder, 'sums.steps');
const STEPS = 4;
const ALL = [0, 10, 20, 30];

describe('the checkpoints of a phase', () => {
  it('restores the finished steps and runs the others', async () => {
    await expect(run({ failsAt: 2 })).rejects.toThrow('stopped');
    expect(await run()).toEqual({ done: [2, 3], taken: ALL, reported: [2, 3, 4] });
    expect(await run()).toEqual({ done: [], taken: ALL, reported: [4] });
  });

  it('repeats a step that was truncated or changed at any byte, and all steps after it', async () => {
    await run();
    const bytes = readFileSync(path);
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] ^= 1;
      writeFileSync(path, changed);
      const { done, taken } = await run();
      expect(taken, `byte ${at}`).toEqual(ALL);
      expect(done.length, `byte ${at}`).toBeGreaterThan(0);
      truncateSync(path, at);
      expect((await run()).taken, `${at} bytes`).toEqual(ALL);
    }
    expect(readFileSync(path)).toEqual(bytes);
  });

  it('start anew with other inputs', async () => {
    await run();
    expect((await run({ inputs: 'others' })).done).toEqual([0, 1, 2, 3]);
    expect((await run()).done).toEqual([0, 1, 2, 3]);
  });
});

async function run({ inputs = 'these', failsAt = STEPS } = {}) {
  const [done, taken, reported]: number[][] = [[], [], []];
  await runPhase(
    { folder, identity: 'test' },
    {
      name: 'sums',
      inputs,
      stepCount: STEPS,
      step(index) {
        if (index === failsAt) throw new Error('stopped');
        done.push(index);
        return Int32Array.of(10 * index);
      },
      take: (record) => taken.push(...new Int32Array(record)),
      report: (count) => reported.push(count),
    },
  );
  return { done, taken, reported };
}
