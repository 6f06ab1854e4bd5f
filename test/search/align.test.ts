// @module-tag fast

import { describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { freeStretches, tracePath } from '#src/search/align.js';

const pair = (length: number): number => length << 2;
const insertion = (length: number): number => (length << 2) | 1;
const deletion = (length: number): number => (length << 2) | 2;

describe('tracePath', () => {
  it('writes matches, mismatches and gaps as an extended CIGAR and counts them', () => {
    const traced = tracePath(
      {
        score: 9,
        queryStart: 1,
        queryEnd: 8,
        targetStart: 0,
        targetEnd: 6,
        runs: Uint32Array.of(pair(3), insertion(2), pair(2), deletion(1)),
      },
      'MACDEFGHK',
      'ACWGKLMNPQ',
    );
    expect(traced).toEqual({
      alignedResidueCount: 5,
      cigar: '2=1X2I1=1X1D',
      gapOpeningCount: 2,
      gapResidueCount: 3,
      identicalResidueCount: 3,
      queryCoverageRatio: 7 / 9,
      queryStart: 1,
      queryEnd: 8,
      queryLength: 9,
      sequenceIdentityRatio: 3 / 8,
      targetCoverageRatio: 6 / 10,
      targetStart: 0,
      targetEnd: 6,
      targetLength: 10,
    });
  });

  it('does not call two unknown residues identical', () => {
    const alignment = {
      score: 1,
      queryStart: 0,
      queryEnd: 2,
      targetStart: 0,
      targetEnd: 2,
      runs: Uint32Array.of(pair(2)),
    };
    expect(tracePath(alignment, 'XA', 'XA').cigar).toBe('1X1=');
  });

  it('describes an empty alignment without dividing by zero', () => {
    const alignment = {
      score: 0,
      queryStart: 0,
      queryEnd: 0,
      targetStart: 0,
      targetEnd: 0,
      runs: new Uint32Array(),
    };
    const traced = tracePath(alignment, 'ACD', 'WWW');
    expect([traced.cigar, traced.sequenceIdentityRatio, traced.queryCoverageRatio]).toEqual(['', 0, 0]);
  });
});

describe('freeStretches', () => {
  const at = (queryStart: number, queryEnd: number, targetStart: number, targetEnd: number) => ({
    queryStart,
    queryEnd,
    targetStart,
    targetEnd,
  });

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
    const random = seededRandom(5);
    const side = (most: number): readonly [number, number] => {
      const start = random.below(most);
      return [start, start + 1 + random.below(most - start)];
    };
    const drawn = () => at(...side(40), ...side(40));
    const isApart = (one: ReturnType<typeof at>, other: ReturnType<typeof at>): boolean =>
      one.queryEnd <= other.queryStart ||
      other.queryEnd <= one.queryStart ||
      one.targetEnd <= other.targetStart ||
      other.targetEnd <= one.targetStart;
    let cut = 0;
    for (let round = 0; round < 500; round += 1) {
      const own = drawn();
      const earlier = [drawn(), drawn(), drawn()].filter((other) => isApart(own, other));
      const free = freeStretches(own, earlier, 40, 40);
      expect(earlier.every((other) => isApart(free, other))).toBe(true);
      expect(free.queryStart <= own.queryStart && own.queryEnd <= free.queryEnd).toBe(true);
      expect(free.targetStart <= own.targetStart && own.targetEnd <= free.targetEnd).toBe(true);
      cut += earlier.length;
    }
    expect(cut).toBeGreaterThan(100);
  });
});
