import type { Release } from '../release/release.js';
import { maxsimDistances } from './maxsim.js';
import type { Candidate, Compared } from './search-types.js';
import { roundingOf, shortlist, type ValuesOf } from './shortlist.js';

/** A candidate as its rank leaves it. */
export type Ranked = Pick<
  Candidate,
  'rank' | 'targetIndex' | 'queryToTargetSum' | 'targetToQuerySum' | 'maxsim'
>;

/**
 * The best `limit` targets by bidirectional MaxSim distance, nearest first; equal distances by ascending target id.
 *
 * For one query the distance falls as Sqt + Lq·Stq / Lt rises (S the integer sums, L the lengths), so ranks compare
 * the exact fractions (Sqt·Lt + Lq·Stq) / Lt. Their numerators stay under 2⁴⁸ and are exact in a double; the one
 * division rounds, so doubles decide except where they are within two roundings of each other, and there the
 * cross-multiplied integers do.
 */
export async function rank(
  { sums, targets: compared }: Pick<Compared, 'sums' | 'targets'>,
  queryLength: number,
  { targets, manifest }: Pick<Release, 'targets' | 'manifest'>,
  limit: number,
): Promise<readonly Ranked[]> {
  const count = sums.queryToTarget.length;
  const targetAt = (position: number): number => (compared === undefined ? position : compared[position]);
  const numeratorAt = (position: number): number =>
    sums.queryToTarget[position] * targets.length(targetAt(position)) +
    sums.targetToQuery[position] * queryLength;

  const closeness = new Float64Array(count);
  const valuesOf: ValuesOf = (values, start, end) => {
    for (let position = start; position < end; position += 1) {
      closeness[position] = numeratorAt(position) / targets.length(targetAt(position));
      values[position - start] = closeness[position];
    }
  };
  const { positions } = await shortlist(count, valuesOf, limit);
  const order = (a: number, b: number): number => {
    const difference = closeness[b] - closeness[a];
    if (Math.abs(difference) > roundingOf(closeness[a], closeness[b])) return difference;
    const left = BigInt(numeratorAt(a)) * BigInt(targets.length(targetAt(b)));
    const right = BigInt(numeratorAt(b)) * BigInt(targets.length(targetAt(a)));
    if (left !== right) return left > right ? -1 : 1;
    return targets.id(targetAt(a)) < targets.id(targetAt(b)) ? -1 : 1;
  };
  return Array.from(positions)
    .sort(order)
    .slice(0, limit)
    .map((position, above) => {
      const targetIndex = targetAt(position);
      const found = {
        queryToTarget: sums.queryToTarget[position],
        targetToQuery: sums.targetToQuery[position],
      };
      return {
        rank: above + 1,
        targetIndex,
        queryToTargetSum: found.queryToTarget,
        targetToQuerySum: found.targetToQuery,
        maxsim: maxsimDistances(
          found,
          queryLength,
          targets.length(targetIndex),
          manifest.encoder.inverse_step,
        ),
      };
    });
}
