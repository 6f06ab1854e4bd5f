import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repeatModel } from '#src/fit-significance/reference/repeats.js';
import { seededRandom } from '#src/random.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import type { Calibration } from '#src/significance/calibration.js';
import { makeRelease } from '../release/make-release.js';
import { calibratedBy, DIMENSION, randomReference, searchAll, supportedOf } from './random-releases.js';

/* Real kernels over proteins with random tokens. Every second protein is one stretch twice. */

const REPEATS = repeatModel(false);
const COUNT = 120;
const QUERIES = 12;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-repeats-'));
let release: Release;
let calibration: Calibration;

beforeAll(async () => {
  const { card, reference } = await randomReference(folder, join(folder, 'encoder'));
  expect(card.pair_null.repeats).toBeUndefined();
  release = await openRelease(await makeRelease(folder, withRepeats(COUNT, 2)));
  calibration = await calibratedBy(release, reference);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

it('has the repeat share of each target, which only proteins of a repeated stretch have', () => {
  expect(calibration.card.conditioning_context_id).toMatch(/cysteines_and_repeats/);
  expect(calibration.repeats).toEqual(REPEATS);
  const shares = calibration.repeatShares!;
  expect(shares).toHaveLength(COUNT);
  shares.forEach((share, target) => {
    if (target % 2 === 0) expect(share).toBeGreaterThan(REPEATS.largestShare);
    else expect(share).toBeLessThan(REPEATS.usualShare);
  });
});

it('lowers the bit score of pairs of which both have repeats, by at most the weight of the largest share', async () => {
  const [withModel, without] = [
    await search(calibration),
    await search({ ...calibration, repeats: undefined }),
  ];
  const most = (REPEATS.weight * (REPEATS.largestShare - REPEATS.usualShare)) / Math.LN2;
  let lowered = 0;
  withModel.forEach((candidates, query) => {
    const byTarget = new Map(without[query].map((candidate) => [candidate.targetIndex, candidate]));
    for (const candidate of candidates) {
      const before = supportedOf(byTarget.get(candidate.targetIndex)!).bitScore;
      const after = supportedOf(candidate).bitScore;
      if (query % 2 === 1 || candidate.targetIndex % 2 === 1) expect(after).toBe(before);
      // A coordinate that falls below that of chance has no control, which would have lowered it.
      else if (before > 20) expect(before - after).toBeCloseTo(most, 9);
      if (after < before) lowered += 1;
    }
  });
  // Most pairs of random proteins have the probability 1 with and without repeats.
  expect(lowered).toBeGreaterThan(2 * QUERIES);
});

/** Random proteins; the second half of every second one repeats its first half. */
function withRepeats(count: number, seed: number) {
  const components = seededRandom(seed);
  // Half of such a protein is as long as the shortest protein of the reference null.
  const targets = Array.from({ length: count }, (_, at) => ({
    id: `p${at}`,
    sequence: 'X'.repeat(125 + components.below(31)),
  }));
  const parts = targets.map(({ sequence }, at) => {
    const row = (): number[] => Array.from({ length: DIMENSION }, () => components.below(79) - 39);
    const rows = Array.from({ length: sequence.length }, row);
    const half = Math.floor(sequence.length / 2);
    return at % 2 === 0 ? rows.map((own, place) => (place < half ? own : rows[place - half])) : rows;
  });
  const rows = parts.flat();
  return { targets, dimension: DIMENSION, token: (row: number, column: number): number => rows[row][column] };
}

/** Searches the release exhaustively with its own first proteins. */
async function search(by: Calibration) {
  const reader = await openTokenReader(release);
  const tokens = await Promise.all(Array.from({ length: QUERIES }, (_, target) => reader.read(target)));
  await reader.close();
  const byLength = new Map(tokens.map((own) => [own.length, own]));
  const encode = (sequences: readonly string[]) =>
    Promise.resolve(sequences.map(({ length }) => byLength.get(length)!));
  return searchAll(
    release,
    tokens.map(({ length }) => 'X'.repeat(length)),
    by,
    encode,
  );
}
