/*
 * The control of a striking pair: the same target with the query read backwards, which keeps the query's composition,
 * low complexity, periods and helices, but has no ancestor. What the control scores beyond chance, the pair does not
 * owe to an ancestor either. A control that is unlike its target changes nothing, which is so for all but a few pairs.
 * Source  reverse-sequence null models (Karplus, Karchin, Shackelford & Hughey 2005)
 */

/** Tail coordinate up to which a control is chance; pairs up to it need none. One unrelated pair in 250 exceeds it. */
export const CHANCE_COORDINATE = 4;
/** No pair falls below this coordinate for its control's sake; one unrelated pair in thirty-three exceeds it. */
const LEAST_COORDINATE = 0;

/** The tail coordinate that is left of a striking pair after its control. */
export function controlledCoordinate(coordinate: number, control: number): number {
  return Math.max(LEAST_COORDINATE, coordinate - Math.max(0, control - CHANCE_COORDINATE));
}

export function reversed(sequence: string): string {
  return [...sequence].reverse().join('');
}
