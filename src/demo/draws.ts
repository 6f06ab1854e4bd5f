import type { Random } from '../random.js';

/*
 * Random draws of the simulator. The demo's proteins depend on the random stream and on the arithmetic of each draw, so
 * that neither may change. The bias of `integer` is negligible in a simulation.
 */

/** Draws a uniform integer. Range: low..high, both inclusive */
export function integer(random: Random, low: number, high: number): number {
  return low + Math.floor(random.share() * (high - low + 1));
}

/** Draws a uniform number. Range: low..high */
export function between(random: Random, low: number, high: number): number {
  return low + random.share() * (high - low);
}

/** Draws one of the items with equal probability. */
export function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[integer(random, 0, items.length - 1)];
}

/** Returns the cumulative sums of the weights, scaled to end at 1. */
export function cumulative(weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.map((weight) => (sum += weight) / total);
}

/** Draws an index with a probability proportional to its weight. @param sums  result of `cumulative` */
export function draw(sums: readonly number[], random: Random): number {
  const chance = random.share();
  const index = sums.findIndex((sum) => chance < sum);
  return index < 0 ? sums.length - 1 : index;
}
