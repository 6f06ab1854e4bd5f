import type { Candidate } from '../../src/search/search-types.js';

/** Scores that rank candidates; higher is better, and undefined means not measured. */
export const candidateScores = {
  maxsim: ({ maxsim }: Candidate) => -maxsim.bidirectional,
  affine: ({ affine }: Candidate) => affine.rawScore,
  normalized: ({ affine }: Candidate) => affine.normalizedScore,
  evalue: (candidate: Candidate) => {
    const log = logEValueOf(candidate);
    return log === undefined ? undefined : -log;
  },
} satisfies Readonly<Record<string, (candidate: Candidate) => number | undefined>>;

/** Returns ln of a candidate's E-value, or undefined without one. */
export function logEValueOf({ significance }: Candidate): number | undefined {
  return significance.kind === 'supported' ? significance.logEValue : undefined;
}
