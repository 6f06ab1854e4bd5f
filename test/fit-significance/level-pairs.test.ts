// @module-tag fast

import { describe, expect, it } from 'vitest';
import { partnersOf, planLevelPairs } from '#src/fit-significance/reference/level-pairs.js';
import { seededRandom } from '#src/random.js';
import type { Release } from '#src/release/release.js';

const SUPPORTED = {
  query_minimum_residues: 60,
  query_maximum_residues: 160,
  target_minimum_residues: 60,
  target_maximum_residues: 160,
  maximum_concentration: 1,
};

describe('the pairs that give the level', () => {
  it('are different pairs of different proteins, as many for each protein', () => {
    for (const count of [1, 2, 3, 20, 21, 1_500]) {
      const release = { targets: { count, length: () => 100 } } as unknown as Release;
      const plan = planLevelPairs(release, SUPPORTED, seededRandom(1));
      const pairs = new Set<string>();
      plan.proteins.forEach((_, first) => {
        for (const second of partnersOf(plan, first)) {
          expect(second).not.toBe(first);
          pairs.add(first < second ? `${first} ${second}` : `${second} ${first}`);
        }
      });
      expect(pairs.size).toBe(plan.pairCount);
      expect(plan.pairCount).toBe(
        Math.min(1_000, count) * Math.min(60, Math.floor((Math.min(1_000, count) - 1) / 2)),
      );
    }
  });
});
