// @module-tag fast

import { describe, expect, it } from 'vitest';
import { countReached, levelOf } from '#src/fit-significance/walks.js';
import { walkLogEValue, type WalkNull } from '#src/propagation/null.js';
import { MASS_ONE, type Reached, type Walk } from '#src/propagation/walk.js';

const TARGETS = 8_953;
const WITH_HOMOLOGS: WalkNull = { has_homologs: true, level: 1 };

describe('the null of walks', () => {
  it.each([
    {
      world: 'with homologs',
      walkNull: WITH_HOMOLOGS,
      observed: [
        [5.62, 0.513],
        [1.78, 3.11],
        [1, 5.67],
        [0.562, 9.38],
        [0.178, 22],
      ],
    },
    {
      world: 'without homologs',
      walkNull: { has_homologs: false, level: 1 },
      observed: [
        [1.78, 0.661],
        [1, 2.11],
        [0.562, 5.39],
        [0.316, 11.6],
        [0.178, 21],
      ],
    },
  ])('claims the unrelated domains that walks $world reached, within a third', ({ walkNull, observed }) => {
    // Dev's folds, 2,716 queries, curated truth: unrelated targets of a query with at least this mass, where its hits
    // have together that of one certain hit (npm run bench -- propagation).
    for (const [share, count] of observed) {
      const claimed = Math.exp(walkLogEValue(reachedWith(share), TARGETS, walkNull));
      expect(claimed / count, `mass ${share}`).toBeGreaterThan(0.75);
      expect(claimed / count, `mass ${share}`).toBeLessThan(1.33);
    }
  });

  it('expects less mass of each target by a root of the hits of the query, up to 128 of them', () => {
    const alone = walkLogEValue(reachedWith(0.5), TARGETS, WITH_HOMOLOGS);
    const among = walkLogEValue(
      { ...reachedWith(0.5 / 16 ** 0.375), startMass: 16 * MASS_ONE },
      TARGETS,
      WITH_HOMOLOGS,
    );
    expect(among).toBeCloseTo(alone, 9);
    const weak = walkLogEValue({ ...reachedWith(0.5), startMass: 0.3 * MASS_ONE }, TARGETS, WITH_HOMOLOGS);
    expect(weak).toBe(alone);
    const [most, more] = [128, 1_000].map((hits) =>
      walkLogEValue({ ...reachedWith(0.5), startMass: hits * MASS_ONE }, TARGETS, WITH_HOMOLOGS),
    );
    expect(more).toBe(most);
  });

  it('has a smaller E-value for each larger mass', () => {
    let last = Infinity;
    for (let share = 0.001; share < 100; share *= 1.1) {
      const log = walkLogEValue(reachedWith(share), TARGETS, WITH_HOMOLOGS);
      expect(log).toBeLessThan(last);
      last = log;
    }
  });

  it('claims more in larger databases, and where reversed proteins reach more', () => {
    const usual = walkLogEValue(reachedWith(0.5), TARGETS, WITH_HOMOLOGS);
    const larger = walkLogEValue(reachedWith(0.5), 16 * TARGETS, WITH_HOMOLOGS);
    const raised = walkLogEValue(reachedWith(0.5), TARGETS, { ...WITH_HOMOLOGS, level: 3 });
    expect(larger - usual).toBeCloseTo(Math.log(2), 9);
    expect(raised - usual).toBeCloseTo(Math.log(3), 9);
  });

  it('is raised by reversed proteins that reach more than labelled domains, and never lowered', () => {
    expect(levelOf(0, 1_000)).toBe(1);
    expect(levelOf(3_300, 1_000)).toBe(1);
    expect(levelOf(9_900, 1_000)).toBeCloseTo(3, 9);
  });

  it('counts the targets that a walk reaches with a tenth of the mass of a certain hit', () => {
    const masses = [0.09, 0.1, 2].map((share) => Math.ceil(share * MASS_ONE));
    const walk: Walk = () =>
      masses.map((mass, target) => {
        return { target, mass, startMass: MASS_ONE, bridge: undefined, weakestLogEValue: 0 };
      });
    expect(countReached(walk, [])).toBe(2);
  });
});

/** A target that sure hits lead to. */
function reachedWith(share: number): Pick<Reached, 'mass' | 'startMass' | 'weakestLogEValue'> {
  return { mass: share * MASS_ONE, startMass: MASS_ONE, weakestLogEValue: -Infinity };
}
