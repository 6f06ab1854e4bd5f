import type { Release } from '../release/release.js';
import { Slice } from '../turns.js';
import { maxsimDistances } from './maxsim.js';
import type { Candidate, Compared } from './search-types.js';

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
  const closenessAt = (position: number): number =>
    (closeness[position] = numeratorAt(position) / targets.length(targetAt(position)));
  const positions = await shortlist(count, closenessAt, limit);
  const order = (a: number, b: number): number => {
    const difference = closeness[b] - closeness[a];
    if (Math.abs(difference) > roundingOf(closeness[a], closeness[b])) return difference;
    const left = BigInt(numeratorAt(a)) * BigInt(targets.length(targetAt(b)));
    const right = BigInt(numeratorAt(b)) * BigInt(targets.length(targetAt(a)));
    if (left !== right) return left > right ? -1 : 1;
    return targets.id(targetAt(a)) < targets.id(targetAt(b)) ? -1 : 1;
  };
  return positions
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

/** Positions that are looked at without a pause: some milliseconds. */
const BLOCK_POSITIONS = 65_536;

/**
 * Every position that could be among the best `limit`: those at or within rounding of the limit-th value.
 * Whenever they have doubled, what the best so far leave no room for is dropped; as the limit-th value only rises,
 * nothing is dropped that would have stayed at the end.
 */
export async function shortlist(
  count: number,
  valueAt: (position: number) => number,
  limit: number,
): Promise<number[]> {
  const slice = new Slice();
  let positions: number[] = [];
  let values: number[] = [];
  let bar = -Infinity;
  const isNear = (value: number): boolean => value >= bar - roundingOf(value, bar);
  let most = limit + 1;
  const drop = (): void => {
    bar = kthLargest(Float64Array.from(values), limit);
    positions = positions.filter((_, index) => isNear(values[index]));
    values = values.filter(isNear);
    most = 2 * positions.length;
  };
  for (let start = 0; start < count; start += BLOCK_POSITIONS) {
    const end = Math.min(count, start + BLOCK_POSITIONS);
    for (let position = start; position < end; position += 1) {
      const value = valueAt(position);
      if (!isNear(value)) continue;
      positions.push(position);
      values.push(value);
    }
    if (positions.length >= most || (end === count && positions.length > limit)) drop();
    if (slice.isOver) await slice.pause();
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
