// @module-tag fast

import { describe, expect, it } from 'vitest';
import { repeatProbabilities } from '#bench/calibration/repeats.js';

/** Output of Debian's `tantan -p -f1` 40 for this made-up protein with two repeats and a stretch without repeats. */
const PROTEIN = 'MAEQKTSWNDVGPPGPPGPPGPPGPPGKDWQNARTLMEHCFYVIKSSSSSSSSTNDEWLRQAGHIFKMPCVY';
const TANTAN = [
  0, 0.000146, 0.000367, 0.00673, 0.0132, 0.0223, 0.0355, 0.0491, 0.0875, 0.128, 0.17, 0.286, 0.408, 0.585,
  0.94, 0.993, 0.999, 1, 1, 1, 1, 1, 1, 1, 1, 0.996, 0.961, 0.728, 0.567, 0.457, 0.403, 0.333, 0.241, 0.213,
  0.179, 0.152, 0.148, 0.142, 0.156, 0.181, 0.259, 0.421, 0.486, 0.581, 0.622, 0.734, 0.86, 0.914, 0.934,
  0.94, 0.941, 0.934, 0.91, 0.823, 0.709, 0.592, 0.452, 0.22, 0.139, 0.0991, 0.0795, 0.0539, 0.0362, 0.0197,
  0.0112, 0.00814, 0.00512, 0.00367, 0.00239, 0.00186, 0.00159, 0.00115,
];

describe('repeats', () => {
  it('the probability of a repeat equals that of tantan to three digits', () => {
    const probabilities = repeatProbabilities(PROTEIN);
    expect(probabilities.length).toBe(TANTAN.length);
    probabilities.forEach((probability, at) => expect(probability).toBeCloseTo(TANTAN[at], 2));
  });

  it('the longest protein of one letter neither overflows nor loses a residue', () => {
    const probabilities = repeatProbabilities('W'.repeat(65_535));
    expect(probabilities.length).toBe(65_535);
    expect(probabilities.every((probability) => probability >= 0 && probability <= 1)).toBe(true);
    expect(probabilities[30_000]).toBeGreaterThan(0.999);
  });

  it('a protein of unknown letters repeats nothing, and an empty one has no residues', () => {
    expect(Math.max(...repeatProbabilities('X'.repeat(100)))).toBeLessThan(0.01);
    expect(repeatProbabilities('')).toHaveLength(0);
  });

  it('lower case reads as upper case', () => {
    expect(repeatProbabilities(PROTEIN.toLowerCase())).toEqual(repeatProbabilities(PROTEIN));
  });
});
