import { walkHits, type SearchedHit } from './hits.js';
import { walkLogEValue, type WalkNull } from './null.js';
import type { Walk } from './walk.js';

/**
 * Largest E-value of a propagated hit. Most homologs that only a walk reaches have one above 10: with it as the bound,
 * the first hundred hits of a labelled query held .79 of its homologs, and now .82.
 */
export const LARGEST_PROPAGATED_EVALUE = 100;

/** A target that the walk of a query reaches with an E-value. */
export interface PropagatedHit {
  readonly target: number;
  /** ln of the expected number of unrelated targets that walks reach with at least this weight. */
  readonly logEValue: number;
  /** Protein from which most weight arrives; undefined if all of it is the query's own hit. */
  readonly bridge: number | undefined;
}

/** A walk with the null that judges it. */
export interface JudgedWalk {
  readonly walk: Walk;
  readonly walkNull: WalkNull;
  /** Targets of the release, which E-values count among. */
  readonly targetCount: number;
}

/**
 * Walks from the candidates of one query. Returns the targets with an E-value of at most 100, by E-value and target.
 * @param isLeftOut  targets that the walk avoids, such as the query's own entry
 */
export function propagate(
  candidates: readonly SearchedHit[],
  { walk, walkNull, targetCount }: JudgedWalk,
  isLeftOut?: (target: number) => boolean,
): readonly PropagatedHit[] {
  return walk(walkHits(candidates), isLeftOut)
    .flatMap((reached) => {
      const { target, bridge } = reached;
      const logEValue = walkLogEValue(reached, targetCount, walkNull);
      return logEValue <= Math.log(LARGEST_PROPAGATED_EVALUE) ? [{ target, logEValue, bridge }] : [];
    })
    .sort((a, b) => a.logEValue - b.logEValue || a.target - b.target);
}
