import { expect, it } from 'vitest';
import { simulateSeed } from '#bench/simulate/seed.js';

/* Simulated worlds: 3 seeds, or SIMULATE_SEEDS. `npm run bench -- simulate --seed N` tells what broke in seed N. */

const SEED_COUNT = Number(process.env.SIMULATE_SEEDS ?? 3);

it(`every invariant holds in ${SEED_COUNT} seeds`, { timeout: 60_000 + 20_000 * SEED_COUNT }, async () => {
  for (let seed = 1; seed <= SEED_COUNT; seed += 1) {
    const { broken, commitCount } = await simulateSeed(seed);
    expect(broken, `seed ${seed}`).toBeUndefined();
    expect(commitCount).toBeGreaterThan(100);
  }
});

it(
  'a seed is lived through again to the same digest, and another seed to another',
  { timeout: 60_000 },
  async () => {
    const first = await simulateSeed(1);
    const again = await simulateSeed(1);
    const other = await simulateSeed(2);
    expect(again).toEqual(first);
    expect(other.digest).not.toBe(first.digest);
  },
);
