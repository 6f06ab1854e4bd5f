import type { Candidate } from '../../src/search/search-types.js';

/** What candidates can be ranked by; higher is better, undefined where it was not measured. */
export const candidateScores = {
  maxsim: ({ maxsim }: Candidate) => -maxsim.bidirectional,
  affine: ({ affine }: Candidate) => affine.rawScore,
  normalized: ({ affine }: Candidate) => affine.normalizedScore,
  evalue: (candidate: Candidate) => {
    const log = logEValueOf(candidate);
    return log === undefined ? undefined : -log;
  },
} satisfies Readonly<Record<string, (candidate: Candidate) => number | undefined>>;

/** ln of a candidate's E-value; undefined where it has none. */
export function logEValueOf({ significance }: Candidate): number | undefined {
  return significance.kind === 'supported' ? significance.logEValue : undefined;
}
