import { describe, expect, it } from 'vitest';
import { createRanking } from '#bench/calibration/tally.js';
import { seededRandom } from '#src/random.js';

describe('a ranking', () => {
  it('counts true pairs above the last counted false pair, with ties below false pairs', () => {
    const ranking = createRanking(2);
    for (const [score, isTrue] of [
      [9, true],
      [8, false],
      [7, true],
      [6, true],
      [6, false],
      [5, true],
    ] as const) {
      ranking.add(score, isTrue);
    }
    expect(ranking.sensitivity(8)).toBe(2 / 8);
  });

  it('has the sensitivity of a complete list, although it drops pairs', () => {
    const random = seededRandom(4);
    const pairs = Array.from({ length: 500_000 }, () => ({
      score: random.below(100_000),
      isTrue: random.below(3) === 0,
    }));
    const ranking = createRanking(1_000);
    for (const { score, isTrue } of pairs) ranking.add(score, isTrue);
    const sorted = [...pairs].sort((a, b) => b.score - a.score || Number(a.isTrue) - Number(b.isTrue));
    let [found, wrong] = [0, 0];
    for (const { isTrue } of sorted) {
      if (isTrue) found += 1;
      else if ((wrong += 1) === 1_000) break;
    }
    expect(found).toBeGreaterThan(300);
    expect(ranking.sensitivity(170_000)).toBe(found / 170_000);
  });
});
