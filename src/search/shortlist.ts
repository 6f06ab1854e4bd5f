import { Slice } from '../turns.js';

/** Writes the values of positions start … end − 1, from the first place of `values` on. */
export type ValuesOf = (values: Float64Array, start: number, end: number) => void;

/** Positions, ascending, and their values. */
export interface Shortlist {
  readonly positions: Uint32Array;
  readonly values: Float64Array;
}

/** Positions that are looked at without a pause: some milliseconds. */
const BLOCK_POSITIONS = 65_536;
/** Room for so many times the limit: of values in no order, it is seldom full more than twice. */
const ROOM = 4;

/**
 * Every position that could be among the best `limit`: those at or within rounding of the limit-th value.
 * Whenever the room for them is full, what the best so far leave no room for is dropped; as the limit-th value only
 * rises, nothing is dropped that would have stayed at the end.
 * Range  limit from 1
 * Cost   a call for each block of positions, because a call for each takes longer than all that is done with it
 */
export async function shortlist(count: number, valuesOf: ValuesOf, limit: number): Promise<Shortlist> {
  const slice = new Slice();
  const block = new Float64Array(Math.min(count, BLOCK_POSITIONS));
  let positions = new Uint32Array(Math.min(count, ROOM * limit));
  let values = new Float64Array(positions.length);
  let size = 0;
  let bar = -Infinity;
  const drop = (): void => {
    bar = kthLargest(values.slice(0, size), limit);
    let kept = 0;
    for (let at = 0; at < size; at += 1) {
      if (!isNear(values[at], bar)) continue;
      positions[kept] = positions[at];
      values[kept] = values[at];
      kept += 1;
    }
    size = kept;
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
      if (value < bar && !isNear(value, bar)) continue;
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

/** The positions with the greatest values, greatest first, of equal ones the first. */
export async function greatest(
  positionCount: number,
  valuesOf: ValuesOf,
  count: number,
): Promise<readonly number[]> {
  const { positions, values } = await shortlist(positionCount, valuesOf, count);
  const order = Array.from(positions.keys()).sort((a, b) => values[b] - values[a] || a - b);
  return order.slice(0, count).map((place) => positions[place]);
}

function isNear(value: number, bar: number): boolean {
  return value >= bar - roundingOf(value, bar);
}

/** Bound on how far two correctly rounded quotients can be apart and still stand for the other order. */
export function roundingOf(a: number, b: number): number {
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
