import {
  RUN_DELETION,
  RUN_INSERTION,
  RUN_KIND_MASK,
  RUN_PAIR,
  type AffineAlignment,
  type AffineParameters,
  type QueryTokens,
} from '../../kernels/kernels.js';

/** Columns of the table of letter scores. A letter is the low five bits of its character. */
const LETTER_COUNT = 32;

/** Substitution score of a residue of the query and one of the target, zero-based. */
export type PairScore = (queryAt: number, targetAt: number) => number;

/**
 * Returns the substitution scores that an alignment of two proteins without profiles adds up (kernels.h).
 * Shape   tokens.values int8 [length × dimension]
 */
export function pairScores(
  query: QueryTokens,
  target: QueryTokens,
  { multiplier, offset, letters }: AffineParameters,
): PairScore {
  const dimension = query.values.length / query.length;
  return (queryAt, targetAt) => {
    let dot = 0;
    for (let at = 0; at < dimension; at += 1)
      dot += query.values[queryAt * dimension + at] * target.values[targetAt * dimension + at];
    const ofTokens = Math.floor((dot * multiplier) / 65_536) - offset;
    if (letters === undefined) return ofTokens;
    const row = (letters.query[queryAt] % LETTER_COUNT) * LETTER_COUNT;
    return ofTokens + letters.scores[row + (letters.targets[targetAt] % LETTER_COUNT)];
  };
}

/** Part of a path that an end of it may lose: runs from that end on, up to and with a gap. */
interface WeakEnd {
  readonly runCount: number;
  readonly score: number;
  readonly queryResidues: number;
  readonly targetResidues: number;
}

/**
 * Returns a path without its weak ends. An end is weak from a gap on if all that follows adds less than `leastGain` to
 * the score. Alignments reach beyond a domain so: a few residues beside it are alike by chance, behind a long gap.
 * @param leastGain  substitution score; 0 returns the path as it is
 */
export function withoutWeakEnds(
  path: AffineAlignment,
  scoreOf: PairScore,
  gaps: Pick<AffineParameters, 'gapOpen' | 'gapExtend'>,
  leastGain: number,
): AffineAlignment {
  const end = weakEnd(path, scoreOf, gaps, leastGain, true);
  const cut: AffineAlignment = {
    score: path.score - end.score,
    queryStart: path.queryStart,
    queryEnd: path.queryEnd - end.queryResidues,
    targetStart: path.targetStart,
    targetEnd: path.targetEnd - end.targetResidues,
    runs: path.runs.subarray(0, path.runs.length - end.runCount),
  };
  const start = weakEnd(cut, scoreOf, gaps, leastGain, false);
  if (start.runCount + end.runCount === 0) return path;
  return {
    score: cut.score - start.score,
    queryStart: cut.queryStart + start.queryResidues,
    queryEnd: cut.queryEnd,
    targetStart: cut.targetStart + start.targetResidues,
    targetEnd: cut.targetEnd,
    runs: cut.runs.subarray(start.runCount),
  };
}

function weakEnd(
  { runs, ...ends }: AffineAlignment,
  scoreOf: PairScore,
  { gapOpen, gapExtend }: Pick<AffineParameters, 'gapOpen' | 'gapExtend'>,
  leastGain: number,
  isLast: boolean,
): WeakEnd {
  let weak: WeakEnd = { runCount: 0, score: 0, queryResidues: 0, targetResidues: 0 };
  let score = 0;
  let [queryResidues, targetResidues] = [0, 0];
  for (let count = 0; count < runs.length; count += 1) {
    const run = runs[isLast ? runs.length - 1 - count : count];
    const [length, kind] = [run >>> 2, run & RUN_KIND_MASK];
    if (kind === RUN_PAIR) {
      for (let step = 0; step < length; step += 1) {
        const queryAt = isLast ? ends.queryEnd - 1 - queryResidues : ends.queryStart + queryResidues;
        const targetAt = isLast ? ends.targetEnd - 1 - targetResidues : ends.targetStart + targetResidues;
        score += scoreOf(queryAt, targetAt);
        queryResidues += 1;
        targetResidues += 1;
      }
      continue;
    }
    score -= gapOpen + (length - 1) * gapExtend;
    if (kind === RUN_INSERTION) queryResidues += length;
    if (kind === RUN_DELETION) targetResidues += length;
    if (score < leastGain) weak = { runCount: count + 1, score, queryResidues, targetResidues };
  }
  return weak;
}
