import type { Release } from '../release/release.js';
import type { Candidate, Compared, Ranked } from './search-types.js';
import { roundingOf, shortlist, type ValuesOf } from './selection/shortlist.js';

/**
 * Returns the best `limit` targets by bidirectional MaxSim distance, nearest first, equal distances by ascending id.
 *
 * For one query the distance falls as Sqt + Lq·Stq / Lt rises (S the integer sums, L the lengths). Ranks therefore
 * compare the exact fractions (Sqt·Lt + Lq·Stq) / Lt. The numerators are below 2⁴⁸ and exact in a double. The division
 * rounds once. Doubles within two roundings of each other are compared by their cross-multiplied integers.
 * Shape   sums: one element per target of `targets`
 * Unit    sums of int8 products
 * Errors  none
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

  const similarities = new Float64Array(count);
  const valuesOf: ValuesOf = (values, start, end) => {
    for (let position = start; position < end; position += 1) {
      similarities[position] = numeratorAt(position) / targets.length(targetAt(position));
      values[position - start] = similarities[position];
    }
  };
  const { positions } = await shortlist(count, valuesOf, limit);
  const order = (a: number, b: number): number => {
    const difference = similarities[b] - similarities[a];
    if (Math.abs(difference) > roundingOf(similarities[a], similarities[b])) return difference;
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
      const [queryToTarget, targetToQuery] = [sums.queryToTarget[position], sums.targetToQuery[position]];
      return {
        rank: above + 1,
        targetIndex,
        queryToTargetSum: queryToTarget,
        targetToQuerySum: targetToQuery,
        maxsim: maxsimDistances(
          { queryToTarget, targetToQuery },
          queryLength,
          targets.length(targetIndex),
          manifest.encoder.inverse_step,
        ),
      };
    });
}

/**
 * Mean closest cosine distances from the integer sums of one target.
 * Unit    1 − cosine: 0 for equal directions, 2 for opposite ones; `bidirectional` is the mean of both directions
 * Range   1 ± 32,767 ÷ inverseStep² (Cauchy–Schwarz). Rounding of the tokens can make the distance of a protein to
 *         itself slightly negative; it is not clamped
 * Source  cosine = dot / inverseStep², fixed by the encoder
 */
export function maxsimDistances(
  sums: { readonly queryToTarget: number; readonly targetToQuery: number },
  queryLength: number,
  targetLength: number,
  inverseStep: number,
): Candidate['maxsim'] {
  const unit = inverseStep * inverseStep;
  const queryToTarget = 1 - sums.queryToTarget / (unit * queryLength);
  const targetToQuery = 1 - sums.targetToQuery / (unit * targetLength);
  return { bidirectional: (queryToTarget + targetToQuery) / 2, queryToTarget, targetToQuery };
}
