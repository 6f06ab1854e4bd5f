import type { Random } from '../random.js';

/*
 * What the simulator draws. The demo's proteins are frozen with the stream and with the way each number is made of it,
 * so `integer` keeps its own arithmetic, whose bias is far below anything that a simulation shows.
 */

/** Uniform over low … high, both inclusive. */
export function integer(random: Random, low: number, high: number): number {
  return low + Math.floor(random.share() * (high - low + 1));
}

export function between(random: Random, low: number, high: number): number {
  return low + random.share() * (high - low);
}

export function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[integer(random, 0, items.length - 1)];
}

/** Running sums, scaled to end at 1: what `draw` draws from. */
export function cumulative(weights: readonly number[]): readonly number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  let sum = 0;
  return weights.map((weight) => (sum += weight) / total);
}

/** An index, each as often as its weight says. */
export function draw(sums: readonly number[], random: Random): number {
  const chance = random.share();
  const index = sums.findIndex((sum) => chance < sum);
  return index < 0 ? sums.length - 1 : index;
}
