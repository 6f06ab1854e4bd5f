// @module-tag fast

import { describe, expect, it } from 'vitest';
import { countReached, levelOf } from '#src/fit-significance/walks.js';
import { walkLogEValue } from '#src/propagation/null.js';
import { MASS_ONE, type Reached, type Walk } from '#src/propagation/walk.js';

const TARGETS = 8_953;

describe('the null of walks', () => {
  it('claims the unrelated domains that walks of labelled domains reached, within a third', () => {
    // Half of dev's folds with homologs, 1,117 queries: unrelated targets of a query with at least this mass
    // (npm run bench -- propagation, "tuned").
    const observed = [
      [1, 0.14],
      [0.32, 0.98],
      [0.1, 5.1],
      [0.056, 9.5],
    ];
    for (const [share, count] of observed) {
      const claimed = Math.exp(walkLogEValue(reachedWith(share), TARGETS, { level: 1 })!);
      expect(claimed / count, `mass ${share}`).toBeGreaterThan(0.75);
      expect(claimed / count, `mass ${share}`).toBeLessThan(1.33);
    }
  });

  it('has no E-value for a small mass and a smaller one for each larger mass', () => {
    expect(walkLogEValue(reachedWith(0.018), TARGETS, { level: 1 })).toBeUndefined();
    let last = Infinity;
    for (let share = 0.019; share < 100; share *= 1.1) {
      const log = walkLogEValue(reachedWith(share), TARGETS, { level: 1 })!;
      expect(log).toBeLessThan(last);
      last = log;
    }
  });

  it('claims more in larger databases, and where reversed proteins reach more', () => {
    const usual = walkLogEValue(reachedWith(0.5), TARGETS, { level: 1 })!;
    const larger = walkLogEValue(reachedWith(0.5), 16 * TARGETS, { level: 1 })!;
    const raised = walkLogEValue(reachedWith(0.5), TARGETS, { level: 3 })!;
    expect(larger - usual).toBeCloseTo(Math.log(2), 9);
    expect(raised - usual).toBeCloseTo(Math.log(3), 9);
  });

  it('is raised by reversed proteins that reach more than labelled domains, and never lowered', () => {
    expect(levelOf(0, 1_000)).toBe(1);
    expect(levelOf(1_800, 1_000)).toBe(1);
    expect(levelOf(5_400, 1_000)).toBeCloseTo(3, 9);
  });

  it('counts the targets that a walk reaches with a tenth of the mass of a certain hit', () => {
    const masses = [0.09, 0.1, 2].map((share) => Math.ceil(share * MASS_ONE));
    const walk: Walk = () =>
      masses.map((mass, target) => {
        return { target, mass, directMass: 0, bridge: undefined, weakestLogEValue: 0 };
      });
    expect(countReached(walk, [])).toBe(2);
  });
});

/** A target that sure hits lead to. */
function reachedWith(share: number): Pick<Reached, 'mass' | 'weakestLogEValue'> {
  return { mass: share * MASS_ONE, weakestLogEValue: -Infinity };
}
