import type { Release } from '../release/release.js';
import type { Compared } from './compare.js';
import { maxsimDistances } from './maxsim.js';
import type { Candidate } from './search-types.js';

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
export function rank(
  { sums, targets: compared }: Pick<Compared, 'sums' | 'targets'>,
  queryLength: number,
  { targets, manifest }: Pick<Release, 'targets' | 'manifest'>,
  limit: number,
): readonly Ranked[] {
  const count = sums.queryToTarget.length;
  const targetAt = (position: number): number => (compared === undefined ? position : compared[position]);
  const numeratorAt = (position: number): number =>
    sums.queryToTarget[position] * targets.length(targetAt(position)) +
    sums.targetToQuery[position] * queryLength;

  const closeness = new Float64Array(count);
  for (let position = 0; position < count; position += 1) {
    closeness[position] = numeratorAt(position) / targets.length(targetAt(position));
  }
  const order = (a: number, b: number): number => {
    const difference = closeness[b] - closeness[a];
    if (Math.abs(difference) > roundingOf(closeness[a], closeness[b])) return difference;
    const left = BigInt(numeratorAt(a)) * BigInt(targets.length(targetAt(b)));
    const right = BigInt(numeratorAt(b)) * BigInt(targets.length(targetAt(a)));
    if (left !== right) return left > right ? -1 : 1;
    return targets.id(targetAt(a)) < targets.id(targetAt(b)) ? -1 : 1;
  };
  return shortlist(closeness, limit)
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

/** Every position that could be among the best `limit`: those at or within rounding of the limit-th value. */
function shortlist(closeness: Float64Array, limit: number): number[] {
  if (closeness.length <= limit) return Array.from(closeness.keys());
  const bar = kthLargest(closeness.slice(), limit);
  const positions: number[] = [];
  for (let position = 0; position < closeness.length; position += 1) {
    const value = closeness[position];
    if (value >= bar - roundingOf(value, bar)) positions.push(position);
  }
  return positions;
}

/** Bound on how far two correctly rounded quotients can be apart and still stand for the other order. */
function roundingOf(a: number, b: number): number {
  return Math.max(Math.abs(a), Math.abs(b)) * 2 ** -51;
}

/** The k-th largest value (k from 1); reorders its input. Hoare's selection with a middle pivot. */
function kthLargest(values: Float64Array, k: number): number {
  let low = 0;
  let high = values.length - 1;
  const wanted = k - 1;
  while (low < high) {
    const pivot = values[(low + high) >>> 1];
    let left = low;
    let right = high;
    while (left <= right) {
      while (values[left] > pivot) left += 1;
      while (values[right] < pivot) right -= 1;
      if (left > right) break;
      const swapped = values[left];
      values[left] = values[right];
      values[right] = swapped;
      left += 1;
      right -= 1;
    }
    if (wanted <= right) high = right;
    else if (wanted >= left) low = left;
    else break;
  }
  return values[wanted];
}
