import type { Candidate } from '../search-types.js';

/**
 * The `limit` candidates with the best evidence, in the order in which they came: by E-value, and by affine score where
 * E-values tie. A candidate without an E-value keeps the place that its affine score gives it among all.
 * Unit    ranks are counted anew
 */
export function chooseFrontier(candidates: readonly Candidate[], limit: number): readonly Candidate[] {
  if (candidates.length <= limit) return candidates;
  const byScore = [...candidates].sort((a, b) => b.affine.rawScore - a.affine.rawScore || a.rank - b.rank);
  const best = byScore.slice(0, limit);
  const unjudged = best.filter((candidate) => tailOf(candidate) === undefined);
  const judged = byScore.filter((candidate) => tailOf(candidate) !== undefined);
  // Sorting is stable: equal tails stay in the order of their scores.
  judged.sort((a, b) => tailOf(a)! - tailOf(b)!);
  const chosen = new Set([...unjudged, ...judged.slice(0, limit - unjudged.length)]);
  return candidates
    .filter((candidate) => chosen.has(candidate))
    .map((candidate, above) => ({ ...candidate, rank: above + 1 }));
}

/** ln P of an unrelated pair that scores as well: for one query it orders candidates as their E-values do. */
function tailOf({ significance }: Candidate): number | undefined {
  return significance.kind === 'supported' ? significance.logTailProbability : undefined;
}
