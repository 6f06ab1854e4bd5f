// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { Release } from '#src/release/release.js';
import { inOrderOfEvidence, measureInSteps, rescoredCount } from '#src/search/in-steps.js';
import type { MeasureWork } from '#src/search/prefiltered.js';
import type { Candidate, EncodedQuery, SearchEngine } from '#src/search/search-types.js';
import type { Judge } from '#src/search/significance.js';

const releaseOf = (length: (target: number) => number) =>
  ({
    targets: { length, id: (target: number) => `t${target}` },
    manifest: { encoder: { inverse_step: 100 } },
    affine: {},
  }) as unknown as Release;

describe('the order of evidence', () => {
  const release = releaseOf((target) => (target === 7 ? 400 : 100));
  const hits = {
    targets: Uint32Array.of(3, 5, 7, 9),
    kmers: Uint32Array.of(0, 0, 0, 20),
    rowCount: 10,
    sums: {
      queryToTarget: Int32Array.of(100, 90, 80, 10),
      // The sum of a target of 400 residues counts a quarter.
      targetToQuery: Int32Array.of(0, 0, 600, 0),
      queryExcess: Int32Array.of(0, 50, 60, 10),
    },
  };

  it('multiplies the ranks by nearness, by local matches and by k-mers', () => {
    // Ranks by nearness 1, 3, 2, 4; by excess 4, 1, 2, 3; by k-mers 4, 4, 4, 1.
    expect([...inOrderOfEvidence(hits, 4, release)]).toEqual([5, 9, 3, 7]);
    expect([...inOrderOfEvidence(hits, 2, release)], 'the best').toEqual([5, 9]);
  });

  it('takes two orders where no k-mers were looked up, and equal products by ascending target', () => {
    const { kmers, ...without } = hits;
    expect(kmers).toHaveLength(4);
    expect([...inOrderOfEvidence(without, 5, release)]).toEqual([5, 3, 7, 9]);
    const equal = { ...hits.sums, queryExcess: new Int32Array(4), targetToQuery: new Int32Array(4) };
    const same = { ...without, sums: { ...equal, queryToTarget: Int32Array.of(5, 5, 9, 5) } };
    expect([...inOrderOfEvidence(same, 4, release)]).toEqual([7, 3, 5, 9]);
    expect([...inOrderOfEvidence(same, 3, release)], 'equal ones by target').toEqual([7, 3, 5]);
  });
});

describe('the number of rescored hits', () => {
  const countOf = async (hitCount: number, promisingUpTo: number) => {
    const watched: (readonly [number, number])[] = [];
    const count = await rescoredCount(hitCount, (from, to) => {
      watched.push([from, to]);
      return Promise.resolve(from < promisingUpTo);
    });
    return { count, watched };
  };

  it('doubles while the last quarter is promising', async () => {
    expect(await countOf(1_000, 0)).toEqual({ count: 64, watched: [[48, 64]] });
    expect(await countOf(1_000, 48)).toMatchObject({ count: 64 });
    expect(await countOf(1_000, 97)).toEqual({
      count: 256,
      watched: [
        [48, 64],
        [96, 128],
        [192, 256],
      ],
    });
  });

  it('is at most the number of hits', async () => {
    expect(await countOf(200, 1_000)).toMatchObject({ count: 200 });
    expect(await countOf(30, 1_000)).toMatchObject({ count: 30 });
    expect(await countOf(0, 1_000)).toMatchObject({ count: 0 });
  });
});

describe('rescoring in steps', () => {
  const HITS = 300;
  const release = releaseOf(() => 100);
  const query = {
    sequence: 'A'.repeat(10),
    tokens: { values: new Int8Array(10), length: 10 },
  } as EncodedQuery;
  // Hit 2 t is the t-th in the order of evidence.
  const targets = Uint32Array.from({ length: HITS }, (_, at) => 2 * at);
  const sums = {
    queryToTarget: Int32Array.from(targets, (target) => 1_000 - target),
    targetToQuery: new Int32Array(HITS),
    queryExcess: Int32Array.from(targets, (target) => 1_000 - target),
  };
  const hits = { targets, swept: { sums, rowCount: 10 } };

  /** An engine whose measures of a target are its index, and a judge of targets by their index. */
  async function rescored(
    eValueOf: (target: number) => number | undefined,
    most: number,
    isCalibrated = true,
  ) {
    const calls: number[] = [];
    const judged: number[] = [];
    const backend = {
      measure: (_: unknown, __: unknown, list: Uint32Array) => {
        calls.push(list.length);
        const values = Int32Array.from(list);
        return Promise.resolve({ queryToTarget: values, targetToQuery: values, scores: values });
      },
    };
    const judge: Judge = (_, candidates) => {
      const withEValues = candidates.map((candidate) => {
        const { targetIndex, affine } = candidate;
        expect(affine.rawScore).toBe(targetIndex);
        judged.push(targetIndex);
        const eValue = eValueOf(targetIndex);
        const significance =
          eValue === undefined ? { kind: 'unsupported' } : { kind: 'supported', logEValue: Math.log(eValue) };
        return { ...candidate, significance } as Candidate;
      });
      return Promise.resolve({ candidates: withEValues, judgeAlignment: () => undefined });
    };
    const referenceSums = { queryToTarget: new Int32Array(1), targetToQuery: new Int32Array(1) };
    const work: MeasureWork = {
      engine: { release, backend } as unknown as SearchEngine,
      options: {},
      referenceSums: isCalibrated ? referenceSums : undefined,
    };
    return { measured: await measureInSteps(query, hits, most, judge, work), calls, judged };
  }

  it('ends after the first step if the last quarter of it has no small E-value', async () => {
    const { measured, calls, judged } = await rescored((target) => (target < 96 ? 1e-9 : 1.01), 256);
    expect(calls).toEqual([64]);
    expect(judged.sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, at) => 96 + 2 * at));
    expect([...measured.targets]).toEqual([...targets.slice(0, 64)]);
  });

  it('measures each target once, and returns the measures of all steps by ascending target', async () => {
    const { measured, calls } = await rescored((target) => (target === 98 ? 1 : 10), 256);
    expect(calls).toEqual([64, 64]);
    const expected = [...targets.slice(0, 128)];
    expect([...measured.targets]).toEqual(expected);
    for (const values of [measured.sums.queryToTarget, measured.sums.targetToQuery, measured.affineScores])
      expect([...values]).toEqual(expected);
  });

  it('takes all that the policy may rescore where pairs have no E-values', async () => {
    expect((await rescored(() => undefined, 200)).calls).toEqual([64, 64, 72]);
    const { calls, judged } = await rescored(() => 10, 200, false);
    expect({ calls, judged }).toEqual({ calls: [200], judged: [] });
  });
});
