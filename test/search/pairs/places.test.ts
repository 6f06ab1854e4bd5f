// @module-tag fast

import { describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { extended, freeStretches, overlap, ownStretches } from '#src/search/pairs/places.js';

type Place = ReturnType<typeof at>;

const at = (queryStart: number, queryEnd: number, targetStart: number, targetEnd: number) => ({
  queryStart,
  queryEnd,
  targetStart,
  targetEnd,
});

/** Draws places in two proteins of 40 residues. */
function drawing(seed: number): () => Place {
  const random = seededRandom(seed);
  const side = (most: number): readonly [number, number] => {
    const start = random.below(most);
    return [start, start + 1 + random.below(most - start)];
  };
  return () => at(...side(40), ...side(40));
}

const holds = (outer: Place, inner: Place): boolean =>
  outer.queryStart <= inner.queryStart &&
  inner.queryEnd <= outer.queryEnd &&
  outer.targetStart <= inner.targetStart &&
  inner.targetEnd <= outer.targetEnd;

describe('freeStretches', () => {
  it('are the whole pair without an earlier alignment', () => {
    expect(freeStretches(at(3, 5, 7, 9), [], 20, 30)).toEqual(at(0, 20, 0, 30));
  });

  it('keep all of the query for a repeat in the target', () => {
    expect(freeStretches(at(0, 10, 60, 70), [at(0, 10, 5, 15)], 10, 80)).toEqual(at(0, 10, 15, 80));
  });

  it('cut the side that leaves more residue pairs, and the target if both leave as many', () => {
    // The earlier alignment ends at query residue 90 of 100 and at target residue 20 of 100.
    expect(freeStretches(at(90, 100, 50, 60), [at(0, 90, 0, 20)], 100, 100)).toEqual(at(0, 100, 20, 100));
    expect(freeStretches(at(50, 60, 50, 60), [at(0, 40, 0, 40)], 100, 100)).toEqual(at(0, 100, 40, 100));
  });

  it('hold the alignment and share no residue pair with an earlier one', () => {
    const drawn = drawing(5);
    let cut = 0;
    for (let round = 0; round < 500; round += 1) {
      const own = drawn();
      const earlier = [drawn(), drawn(), drawn()].filter((other) => !overlap(own, other));
      const free = freeStretches(own, earlier, 40, 40);
      expect(earlier.every((other) => !overlap(free, other))).toBe(true);
      expect(free.queryStart <= own.queryStart && own.queryEnd <= free.queryEnd).toBe(true);
      expect(free.targetStart <= own.targetStart && own.targetEnd <= free.targetEnd).toBe(true);
      cut += earlier.length;
    }
    expect(cut).toBeGreaterThan(100);
  });
});

describe('ownStretches', () => {
  it('are the whole pair without another alignment', () => {
    expect(ownStretches(at(3, 5, 7, 9), [], 20, 30)).toEqual(at(0, 20, 0, 30));
  });

  it('end at another alignment in both proteins, as two domains in another order have it', () => {
    expect(ownStretches(at(60, 95, 2, 40), [at(5, 50, 45, 90)], 100, 100)).toEqual(at(50, 100, 0, 45));
  });

  it('keep the stretch that two alignments share, as a repeat does', () => {
    expect(ownStretches(at(0, 10, 60, 70), [at(1, 10, 5, 15)], 10, 80)).toEqual(at(0, 10, 15, 80));
  });

  it('hold the alignment and share no residue pair with another one', () => {
    const drawn = drawing(6);
    let bounded = 0;
    for (let round = 0; round < 500; round += 1) {
      const own = drawn();
      const others = [drawn(), drawn(), drawn()].filter((other) => !overlap(own, other));
      const stretches = ownStretches(own, others, 40, 40);
      expect(others.some((other) => overlap(stretches, other))).toBe(false);
      expect(holds(stretches, own)).toBe(true);
      bounded += others.length;
    }
    expect(bounded).toBeGreaterThan(100);
  });
});

describe('extended', () => {
  it('adds residues on each side within the bounds', () => {
    expect(extended(at(10, 20, 10, 20), 5, at(8, 30, 0, 22))).toEqual(at(8, 25, 5, 22));
  });
});
