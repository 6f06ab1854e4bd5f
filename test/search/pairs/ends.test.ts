import { describe, expect, it } from 'vitest';
import { nativeBackend } from '#src/kernels/native.js';
import { RUN_DELETION, RUN_INSERTION, RUN_PAIR, type AffineAlignment } from '#src/kernels/kernels.js';
import { openInMemory } from '#src/kernels/memory-store.js';
import { sourceOf } from '#src/kernels/stretch-tokens.js';
import { seededRandom, type Random } from '#src/random.js';
import { pairScores, withoutWeakEnds } from '#src/search/pairs/ends.js';
import { blosum62Scores } from '#src/sequence/substitution.js';

const DIMENSION = 64;
const LETTERS = 'ACDEFGHIKLMNPQRSTVWY';
const PARAMETERS = { multiplier: 175, offset: 34, gapOpen: 52, gapExtend: 5 };

/** A path of runs from the first residues of both proteins on. */
function pathOf(runs: readonly (readonly [kind: number, length: number])[], score: number): AffineAlignment {
  const residues = (gap: number): number =>
    runs.reduce((sum, [kind, length]) => sum + (kind === RUN_PAIR || kind === gap ? length : 0), 0);
  return {
    score,
    queryStart: 0,
    queryEnd: residues(RUN_INSERTION),
    targetStart: 0,
    targetEnd: residues(RUN_DELETION),
    runs: Uint32Array.from(runs, ([kind, length]) => (length << 2) | kind),
  };
}

function randomProtein(length: number, random: Random) {
  const values = Int8Array.from({ length: length * DIMENSION }, () => random.below(61) - 30);
  const sequence = Array.from({ length }, () => LETTERS[random.below(LETTERS.length)]).join('');
  return { tokens: { values, length }, text: Buffer.from(sequence, 'latin1') };
}

/** A protein with the residues of another one in places, so that the two have gaps. */
function relativeOf(other: ReturnType<typeof randomProtein>, random: Random) {
  const inserted = randomProtein(6, random);
  const values = new Int8Array(other.tokens.values.length + inserted.tokens.values.length);
  const at = 30 * DIMENSION;
  values.set(other.tokens.values.subarray(0, at));
  values.set(inserted.tokens.values, at);
  values.set(other.tokens.values.subarray(at), at + inserted.tokens.values.length);
  const text = Buffer.concat([other.text.subarray(0, 30), inserted.text, other.text.subarray(30)]);
  return { tokens: { values, length: other.tokens.length + 6 }, text };
}

describe('pairScores', () => {
  it.each([undefined, 8])('add up to the score of an alignment, with letters of %s', async (scale) => {
    const random = seededRandom(5);
    const query = randomProtein(70, random);
    const target = relativeOf(query, random);
    const scores = scale === undefined ? undefined : blosum62Scores(scale);
    const letters = scores && { scores, query: query.text, targets: target.text };
    const parameters = { ...PARAMETERS, letters };
    const store = await openInMemory(sourceOf(target.tokens), nativeBackend());
    const [path] = await nativeBackend().affineAlign(store, query.tokens, Uint32Array.of(0), parameters, {});
    expect(path.runs.length).toBeGreaterThan(2);
    // A least gain above every score cuts off all that lies beside a gap.
    const scoreOf = pairScores(query.tokens, target.tokens, parameters);
    expect(scoreAlong(path, scoreOf)).toBe(path.score);
    const cut = withoutWeakEnds(path, scoreOf, parameters, 1e6);
    expect(cut.score).toBe(scoreAlong(cut, scoreOf));
    expect(cut.score).toBeLessThan(path.score);
  });
});

/** Score of a path by its definition (kernels.h). */
function scoreAlong(path: AffineAlignment, scoreOf: ReturnType<typeof pairScores>): number {
  let [query, target, score] = [path.queryStart, path.targetStart, 0];
  for (const run of path.runs) {
    const [kind, length] = [run & 3, run >>> 2];
    if (kind !== RUN_PAIR) score -= PARAMETERS.gapOpen + (length - 1) * PARAMETERS.gapExtend;
    for (let step = 0; step < length; step += 1) {
      if (kind === RUN_PAIR) score += scoreOf(query, target);
      if (kind !== RUN_DELETION) query += 1;
      if (kind !== RUN_INSERTION) target += 1;
    }
  }
  expect([query, target]).toEqual([path.queryEnd, path.targetEnd]);
  return score;
}

describe('withoutWeakEnds', () => {
  const tens = () => 10;

  it('cuts an end off whose pairs add less than the least gain after their gap', () => {
    // 20 pairs of 10 points, a gap of 52 + 4 × 5, and 10 pairs: the end adds 28.
    const path = pathOf(
      [
        [RUN_PAIR, 20],
        [RUN_DELETION, 5],
        [RUN_PAIR, 10],
      ],
      228,
    );
    expect(withoutWeakEnds(path, tens, PARAMETERS, 28)).toBe(path);
    expect(withoutWeakEnds(path, tens, PARAMETERS, 29)).toEqual(pathOf([[RUN_PAIR, 20]], 200));
  });

  it('cuts the start off in the same way', () => {
    const path = pathOf(
      [
        [RUN_PAIR, 6],
        [RUN_INSERTION, 1],
        [RUN_PAIR, 30],
      ],
      308,
    );
    const cut = withoutWeakEnds(path, tens, PARAMETERS, 9);
    expect(cut).toEqual({
      ...pathOf([[RUN_PAIR, 30]], 300),
      queryStart: 7,
      queryEnd: 37,
      targetStart: 6,
      targetEnd: 36,
    });
  });

  it('cuts at the innermost gap behind which all together is weak', () => {
    const gap = [RUN_DELETION, 1] as const;
    // Behind the last gap 10 pairs add 48, behind both 6 and 10 pairs add 56.
    const path = pathOf([[RUN_PAIR, 40], gap, [RUN_PAIR, 6], gap, [RUN_PAIR, 10]], 456);
    const withoutLast = pathOf([[RUN_PAIR, 40], gap, [RUN_PAIR, 6]], 408);
    expect(withoutWeakEnds(path, tens, PARAMETERS, 50)).toEqual(withoutLast);
    expect(withoutWeakEnds(path, tens, PARAMETERS, 60)).toEqual(pathOf([[RUN_PAIR, 40]], 400));
  });
});
