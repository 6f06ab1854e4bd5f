// @module-tag fast

import { expect, it } from 'vitest';
import { evidenceOfCandidate, evidenceOfPresented } from '#src/services/evidence.js';
import type { HomologyCandidate } from '#src/contract/search/candidate-set.js';
import type { Candidate } from '#src/search/search-types.js';

/** ln of the E-value of a pair, of its refined best alignment, and of its further ones. */
type LogEValues = readonly [pair: number | undefined, best: number | undefined, further?: readonly number[]];

function candidateWith([pair, best, further = []]: LogEValues): Candidate {
  const judged = (logEValue: number) => ({ significance: { logEValue } });
  return {
    rank: 1,
    affine: { rawScore: 50 },
    significance: pair === undefined ? { kind: 'unsupported' } : { kind: 'supported', logEValue: pair },
    further: {
      ...(best !== undefined && { best: judged(best) }),
      alignments: further.map(judged),
      isCut: false,
    },
  } as unknown as Candidate;
}

function presentedWith([pair, best, further = []]: LogEValues): HomologyCandidate {
  const alignments = [best ?? pair, ...further].map((log) => ({ log_expected_false_hits: log }));
  return {
    rank: 1,
    measurements: { affine: { raw_score: 50 } },
    significance: { measurements: { ...(pair !== undefined && { log_expected_false_hits: pair }) } },
    alignments,
  } as unknown as HomologyCandidate;
}

it.each([
  ['of the pair if no alignment has a smaller one', [-3, undefined, [-1]], -3],
  ['of the best alignment if it was refined', [-1, -5, [-2]], -5],
  ['of a further alignment if it is the smallest', [-1, undefined, [-2, -7]], -7],
  ['absent without a calibration', [undefined, undefined], undefined],
] satisfies [string, LogEValues, number | undefined][])(
  'the E-value by which a candidate is selected is %s',
  (_, logEValues, expected) => {
    expect(evidenceOfCandidate(candidateWith(logEValues)).logEValue).toBe(expected);
    expect(evidenceOfPresented(presentedWith(logEValues)).logEValue).toBe(expected);
  },
);

it('coverage is that of all listed alignments together, and identity that of the best one', () => {
  const place = (start: number, end: number, identity: number) => {
    return {
      queryStart: start,
      queryEnd: end,
      targetStart: start,
      targetEnd: end,
      sequenceIdentityRatio: identity,
    };
  };
  const aligned = (start: number, end: number, identity: number) => {
    return { ...place(start, end, identity), queryLength: 100, targetLength: 200, cigar: '1=' };
  };
  const judged = (...values: [number, number, number]) => ({
    ...aligned(...values),
    significance: { logEValue: -9 },
  });
  const candidate = {
    ...candidateWith([-9, undefined]),
    alignment: { ...aligned(0, 90, 0.1), queryCoverageRatio: 0.9, targetCoverageRatio: 0.45 },
    further: {
      best: judged(50, 80, 0.5),
      alignments: [judged(10, 40, 0.3), judged(30, 55, 0.2)],
      isCut: false,
    },
  } as unknown as Candidate;
  const expected = { queryCoverageRatio: 0.7, targetCoverageRatio: 0.35, sequenceIdentityRatio: 0.5 };
  expect(evidenceOfCandidate(candidate).alignment).toEqual(expected);
  const onWire = (each: ReturnType<typeof aligned>) => ({
    query_start: each.queryStart,
    query_end: each.queryEnd,
    query_length: each.queryLength,
    target_start: each.targetStart,
    target_end: each.targetEnd,
    target_length: each.targetLength,
    sequence_identity_ratio: each.sequenceIdentityRatio,
    cigar: each.cigar,
  });
  const presented = {
    ...presentedWith([-9, undefined]),
    alignment: onWire(aligned(0, 90, 0.1)),
    alignments: [aligned(50, 80, 0.5), aligned(10, 40, 0.3), aligned(30, 55, 0.2)].map((each) => ({
      alignment: onWire(each),
      log_expected_false_hits: -9,
    })),
  } as unknown as HomologyCandidate;
  expect(evidenceOfPresented(presented).alignment).toEqual(expected);
});
