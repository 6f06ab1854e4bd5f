// @module-tag fast

import { describe, expect, it } from 'vitest';
import { tracePath } from '#src/search/align.js';

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
