// @module-tag fast

import { describe, expect, it } from 'vitest';
import { fitScores, inCompany, REVERSED_COUNT } from '#src/fit-significance/walks.js';
import { nullOf, WALKS_FORMAT, type WalksCard } from '#src/propagation/card.js';
import { walkLogEValue } from '#src/propagation/null.js';
import { MASS_ONE, type Reached } from '#src/propagation/walk.js';
import { WALK_PARAMETERS } from '#src/propagation/weights.js';
import { seededRandom } from '#src/random.js';

const TARGETS = 10_000;
const WALKS = REVERSED_COUNT;

describe('the null of walks', () => {
  it('claims as many unrelated targets as the walks reach, at every score', () => {
    for (const shape of [0, -0.3]) {
      const scores = drawScores(shape, 7);
      const { walkNull } = fitted(scores);
      const fresh = drawScores(shape, 8).flatMap((walk) => [...walk]);
      for (const score of [-3.5, -3, -2.5]) {
        const claimed = Math.exp(walkLogEValue(reachedWith(score), TARGETS, walkNull)!);
        const observed = fresh.filter((each) => each >= score).length / WALKS;
        expect(observed / claimed, `shape ${shape} at ${score}`).toBeGreaterThan(0.85);
        expect(observed / claimed, `shape ${shape} at ${score}`).toBeLessThan(1.15);
      }
    }
  });

  it('has no E-value below its threshold and a smaller one for each larger mass', () => {
    const { walkNull, holdout_distance: distance } = fitted(drawScores(-0.3, 7));
    const { threshold } = walkNull.tail;
    expect(walkLogEValue(reachedWith(threshold - 0.01), TARGETS, walkNull)).toBeUndefined();
    let last = Infinity;
    // To scores that no reversed protein reaches.
    for (let score = threshold; score < 8; score += 0.1) {
      const log = walkLogEValue(reachedWith(score + 1e-6), TARGETS, walkNull)!;
      expect(log).toBeLessThan(last);
      last = log;
    }
    expect(distance).toBeLessThan(0.05);
  });

  it('claims more of natural proteins, by a power of the E-value that keeps the tail a generalised Pareto', () => {
    const { tail, least_log_probability } = fitScores(drawScores(-0.3, 7), TARGETS)!;
    const before = nullOf(cardOf({ tail, least_log_probability }));
    const after = nullOf(cardOf({ tail: inCompany(tail, TARGETS), least_log_probability }));
    for (const score of [-4, -3, -2.5]) {
      const plain = walkLogEValue(reachedWith(score), TARGETS, before)!;
      const corrected = walkLogEValue(reachedWith(score), TARGETS, after)!;
      expect(corrected).toBeCloseTo(Math.log(4) + 1.03 * plain, 6);
    }
  });

  it('does not exist where the walks reach too few targets', () => {
    expect(fitScores([Float64Array.of(-1, -2, -3)], TARGETS)).toBeUndefined();
    expect(fitScores([], TARGETS)).toBeUndefined();
  });
});

function fitted(scores: readonly Float64Array[]) {
  const fit = fitScores(scores, TARGETS)!;
  return { ...fit, walkNull: nullOf(cardOf(fit)) };
}

function cardOf(fit: Pick<WalksCard, 'tail' | 'least_log_probability'>): WalksCard {
  return {
    format: WALKS_FORMAT,
    release_id: '',
    graph_id: '',
    parameters: WALK_PARAMETERS,
    seed: 1,
    reversed_count: WALKS,
    pair_count: WALKS * TARGETS,
    exceedance_count: 0,
    holdout_distance: 0,
    ...fit,
  };
}

/** 20 scores of each walk above −5, with a generalised Pareto tail of rate 1. */
function drawScores(shape: number, seed: number): readonly Float64Array[] {
  const random = seededRandom(seed);
  const nats = (): number => -Math.log(1 - random.share());
  const excess = (): number => (shape === 0 ? nats() : Math.expm1(shape * nats()) / shape);
  return Array.from({ length: WALKS }, () => Float64Array.from({ length: 20 }, () => -5 + excess()));
}

/** A target that sure hits lead to. */
function reachedWith(score: number): Pick<Reached, 'mass' | 'weakestLogEValue'> {
  return { mass: Math.exp(score) * MASS_ONE, weakestLogEValue: -Infinity };
}
