// @module-tag fast

import { describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { greatest, shortlist, type ValuesOf } from '#src/search/selection/shortlist.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`shortlist seed ${seed}`);

const from =
  (list: ArrayLike<number>): ValuesOf =>
  (values, start, end) => {
    for (let at = start; at < end; at += 1) values[at - start] = list[at]!;
  };

describe('a shortlist', () => {
  it('has all positions that can be among the best, with their values, for any order of the values', async () => {
    const random = seededRandom(seed);
    const count = 2_000;
    const orders = {
      random: Float64Array.from({ length: count }, () => random.below(1_000) - 500),
      ascending: Float64Array.from({ length: count }, (_, at) => at - count / 2),
      descending: Float64Array.from({ length: count }, (_, at) => -at),
      // More equal values than the initial capacity.
      equal: Float64Array.from({ length: count }, (_, at) => (at % 3 === 0 ? 1 : 2)),
    };
    for (const [name, list] of Object.entries(orders)) {
      const sorted = [...list].sort((a, b) => b - a);
      for (const limit of [1, 7, 300, 1_999, 2_000, 5_000]) {
        const { positions, values } = await shortlist(count, from(list), limit);
        const bar = sorted[limit - 1] ?? -Infinity;
        const best = Array.from(list.keys()).filter((at) => list[at]! >= bar);
        expect([...positions], `${name}, ${limit}, seed ${seed}`).toEqual(best);
        expect([...values]).toEqual(best.map((at) => list[at]));
      }
    }
  });

  it('keeps positions within rounding of the last value', async () => {
    const list = [3, 1 + 2 ** -52, 1, 2, 1 - 2 ** -40];
    expect([...(await shortlist(5, from(list), 3)).positions]).toEqual([0, 1, 2, 3]);
    expect(await greatest(5, from(list), 3)).toEqual([0, 3, 1]);
  });

  it('covers several blocks, and is empty without positions', async () => {
    const count = 200_000;
    const list = Float64Array.from({ length: count }, (_, at) => (at * 7_919) % count);
    const best = await greatest(count, from(list), 3);
    expect(best.map((at) => list[at])).toEqual([count - 1, count - 2, count - 3]);
    expect((await shortlist(0, from([]), 5)).positions).toHaveLength(0);
  });

  it('lists equal values by their positions', async () => {
    expect(await greatest(6, from([5, 7, 5, 7, 5, 1]), 4)).toEqual([1, 3, 0, 2]);
  });
});
