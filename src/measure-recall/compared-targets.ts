import { sampleDistinct, type Random } from '../random.js';

/** Targets that a query is compared with in full. */
export interface ComparedTargets {
  /** Target indices, ascending. */
  readonly targets: Uint32Array;
  /** Number of targets that each stands for, itself included. Range: 1 and more */
  readonly weights: ReadonlyMap<number, number>;
}

/**
 * Number of targets at the head of a prefilter's order that are all compared. The largest pool of a codebook policy is
 * not larger, so that all that this policy retrieves is compared.
 */
export const HEAD_COUNT = 4_800;
/** Number of compared targets of each later part of the order. */
const PART_COUNT = 2_400;

/**
 * Chooses the targets that a query is compared with, by the order of the policy's first step. All targets of the head
 * are compared. Each later part is as long as all targets before it, and equally many of each are drawn. The number of
 * compared targets therefore grows with the logarithm of the database. Relatives that the policy misses become rare
 * with the rank, so that the few that each drawn target stands for add little uncertainty.
 * Shape   order [targets except for the query]
 * Unit    target indices, best first
 * Errors  none
 */
export function comparedTargets(order: Uint32Array, random: Random): ComparedTargets {
  const weights = new Map<number, number>();
  for (const { start, length, drawnCount } of partsOf(order.length))
    for (const place of sampleDistinct(length, drawnCount, random))
      weights.set(order[start + place], length / drawnCount);
  return { targets: Uint32Array.from(weights.keys()).sort(), weights };
}

/**
 * Returns how many targets `comparedTargets` chooses.
 * Range  0..targetCount
 * @param targetCount  targets except for the query
 */
export function comparedCount(targetCount: number): number {
  return partsOf(targetCount).reduce((sum, { drawnCount }) => sum + drawnCount, 0);
}

/** A part of an order, and how many of its targets are compared: all of the head. */
interface OrderPart {
  readonly start: number;
  readonly length: number;
  readonly drawnCount: number;
}

function partsOf(count: number): readonly OrderPart[] {
  const parts: OrderPart[] = [];
  for (let start = 0, end = HEAD_COUNT; start < count; start = end, end *= 2) {
    const length = Math.min(end, count) - start;
    parts.push({ start, length, drawnCount: start === 0 ? length : Math.min(PART_COUNT, length) });
  }
  return parts;
}
