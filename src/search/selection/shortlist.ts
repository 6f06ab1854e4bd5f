import { Slice } from '../../turns.js';

/** Writes the values of positions start … end − 1 to values[0] … values[end − start − 1]. */
export type ValuesOf = (values: Float64Array, start: number, end: number) => void;

/** Positions, ascending, and their values. */
export interface Shortlist {
  readonly positions: Uint32Array;
  readonly values: Float64Array;
}

/** Positions of one block, some milliseconds of work between two pauses. */
const BLOCK_POSITIONS = 65_536;
/** Capacity as a multiple of the limit. With values in random order, it is rarely full more than twice. */
const ROOM = 4;

/**
 * Returns every position that can be among the best `limit`: those at or within rounding of the limit-th value. When
 * the list is full, positions below the limit-th value so far are dropped. This value only rises, so that no position
 * of the final list is dropped.
 * Range   limit from 1
 * Unit    as of `valuesOf`
 * Errors  none beyond those of `valuesOf`
 * Cost    one call of `valuesOf` per block of positions
 */
export async function shortlist(count: number, valuesOf: ValuesOf, limit: number): Promise<Shortlist> {
  const slice = new Slice();
  const block = new Float64Array(Math.min(count, BLOCK_POSITIONS));
  let positions = new Uint32Array(Math.min(count, ROOM * limit));
  let values = new Float64Array(positions.length);
  let size = 0;
  let limitValue = -Infinity;
  const drop = (): void => {
    limitValue = kthLargest(values.slice(0, size), limit);
    let remaining = 0;
    for (let at = 0; at < size; at += 1) {
      if (!isNear(values[at], limitValue)) continue;
      positions[remaining] = positions[at];
      values[remaining] = values[at];
      remaining += 1;
    }
    size = remaining;
  };
  const makeRoom = (): void => {
    drop();
    if (size < positions.length / 2) return;
    const [before, valuesBefore] = [positions, values];
    positions = new Uint32Array(2 * before.length);
    positions.set(before);
    values = new Float64Array(positions.length);
    values.set(valuesBefore);
  };
  for (let start = 0; start < count; start += BLOCK_POSITIONS) {
    const end = Math.min(count, start + BLOCK_POSITIONS);
    valuesOf(block, start, end);
    for (let at = 0; at < end - start; at += 1) {
      const value = block[at];
      if (value < limitValue && !isNear(value, limitValue)) continue;
      if (size === positions.length) makeRoom();
      positions[size] = start + at;
      values[size] = value;
      size += 1;
    }
    if (slice.isOver) await slice.pause();
  }
  if (size > limit) drop();
  return { positions: positions.subarray(0, size), values: values.subarray(0, size) };
}

/**
 * Positions with the greatest values, greatest first, equal ones in ascending order.
 * Errors  none beyond those of `valuesOf`
 */
export async function greatest(
  positionCount: number,
  valuesOf: ValuesOf,
  count: number,
): Promise<readonly number[]> {
  const { positions, values } = await shortlist(positionCount, valuesOf, count);
  const order = Array.from(positions.keys()).sort((a, b) => values[b] - values[a] || a - b);
  return order.slice(0, count).map((place) => positions[place]);
}

function isNear(value: number, limitValue: number): boolean {
  return value >= limitValue - roundingOf(value, limitValue);
}

/** Largest difference of two correctly rounded quotients whose exact order can be the other one. */
export function roundingOf(a: number, b: number): number {
  return Math.max(Math.abs(a), Math.abs(b)) * 2 ** -51;
}

/** The k-th largest value (k from 1); reorders its input. Hoare's selection with a middle pivot. */
function kthLargest(values: Float64Array, k: number): number {
  let low = 0;
  let high = values.length - 1;
  const place = k - 1;
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
    if (place <= right) high = right;
    else if (place >= left) low = left;
    else break;
  }
  return values[place];
}
