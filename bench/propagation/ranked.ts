import { countReached, levelOf } from '../../src/fit-significance/walks.js';
import { jointLogEValue } from '../../src/significance/joint-evalue.js';
import { walkLogEValue, walkScore, type WalkNull } from '../../src/propagation/null.js';
import { LARGEST_PROPAGATED_EVALUE } from '../../src/propagation/propagate.js';
import type { Walk } from '../../src/propagation/walk.js';
import { walkHitsOf, type HitList } from './lists.js';

/** Measures the level of the null of walks by the lists of reversed proteins, and prints it. */
export function measureNull(walk: Walk, lists: readonly HitList[], hasHomologs: boolean): WalkNull {
  const reached = lists.reduce((sum, list) => sum + countReached(walk, walkHitsOf(list)), 0);
  const level = levelOf(reached, lists.length);
  console.log(`null: ${lists.length} reversed domains reach ${reached} targets, level ${level.toFixed(2)}`);
  return { has_homologs: hasHomologs, level };
}

/** Scores of targets by their index; lower is better. */
type Scores = ReadonlyMap<number, number>;

/** Rankings of one query: ln E of the comparison, −walk score, ln E of the walk, ln of the joint E-value. */
export type WalkRankings = Readonly<Record<'direct' | 'walk' | 'propagated' | 'merged', Scores>>;

/** Walks from the hits of one target of the graph, whose own row is left out. */
export function rankWalk(
  query: number,
  list: HitList,
  targetCount: number,
  { walk, walkNull }: { readonly walk: Walk; readonly walkNull: WalkNull },
): WalkRankings {
  const direct = new Map(Array.from(list.targets, (target, hit) => [target, list.logEValues[hit]]));
  const masses = new Map<number, number>();
  const propagated = new Map<number, number>();
  for (const reached of walk(walkHitsOf(list), (other) => other === query)) {
    const { target } = reached;
    masses.set(target, -walkScore(reached));
    propagated.set(target, walkLogEValue(reached, targetCount, walkNull));
  }
  return { direct, walk: masses, propagated, merged: jointLogEValues(direct, propagated) };
}

/** ln of the joint E-value of each target that the direct comparison lists, or the walk with an E-value up to 100. */
export function jointLogEValues(direct: Scores, reached: Scores): Scores {
  const listed = [...reached].filter(([, log]) => log <= Math.log(LARGEST_PROPAGATED_EVALUE));
  const walk = new Map(listed);
  const targets = new Set([...direct.keys(), ...walk.keys()]);
  return new Map(
    Array.from(targets, (target) => [target, jointLogEValue(direct.get(target), walk.get(target))]),
  );
}
