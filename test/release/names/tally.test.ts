import { expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { createTally } from '#src/release/names/tally.js';
import { similarity } from '#src/release/names/text.js';

const seed = Math.floor(Math.random() * 2 ** 31);

it(`a tally gives the places that a sort of all of them would give (seed ${seed})`, () => {
  const { below } = seededRandom(seed);
  for (let round = 0; round < 20; round += 1) {
    const tally = createTally();
    const sums = new Map<number, number>();
    const voices = new Map<number, number>();
    for (let turn = 0; turn < 5_000; turn += 1) {
      const voice = 1 + Math.floor(turn / 1_000);
      // Far apart and close together, so that slots are shared; halves add up exactly.
      const place = below(2) === 0 ? below(2_000) : below(1_000) * 4_194_304;
      const gain = (1 + below(4)) / 2;
      const mayBring = below(4) > 0;
      const isNew = !sums.has(place);
      expect(tally.add(place, gain, voice, mayBring)).toBe(isNew && mayBring);
      if ((isNew && !mayBring) || voices.get(place) === voice) continue;
      voices.set(place, voice);
      sums.set(place, (sums.get(place) ?? 0) + gain);
    }
    const least = below(3);
    const sorted = [...sums]
      .filter(([, sum]) => sum >= least)
      .sort(([a, left], [b, right]) => right - left || a - b)
      .map(([place]) => place);
    for (const count of [1, 7, 64, sorted.length + 1]) {
      expect(tally.best(count, least)).toEqual(sorted.slice(0, count));
    }
    // The next round is given the same memory, which must be empty.
    tally.release();
  }
});

it(`a similarity with a bound is the one without, or 0 where it would be below the bound (seed ${seed})`, () => {
  const { below } = seededRandom(seed);
  const word = (): string =>
    Array.from({ length: below(300) < 3 ? 300 : below(9) }, () => 'abc'.charAt(below(3))).join('');
  for (let turn = 0; turn < 2_000; turn += 1) {
    const [left, right, least] = [word(), word(), below(11) / 10];
    const whole = similarity(left, right);
    const bounded = similarity(left, right, least);
    expect(bounded === whole || (bounded === 0 && whole < least)).toBe(true);
  }
});
