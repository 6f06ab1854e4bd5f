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
