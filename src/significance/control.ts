/*
 * The reversed-query control of a high-scoring pair: the same target against the reversed query. Reversal preserves the
 * query's composition, low complexity, periods and helices, and removes homology. If the control scores above chance,
 * the excess is subtracted from the pair's coordinate. For most pairs the control is at chance and changes nothing.
 * Source  reverse-sequence null models (Karplus, Karchin, Shackelford & Hughey 2005)
 */

/** Largest tail coordinate that counts as chance. Only pairs above it need a control: one unrelated pair in 250. */
export const CHANCE_COORDINATE = 4;
/** A control lowers no pair below this coordinate, which one unrelated pair in thirty-three exceeds. */
const LEAST_COORDINATE = 0;

/**
 * Returns the tail coordinate of a pair after correction by its reversed-query control.
 * Unit   tail coordinates, for both arguments and the result
 * Range  0 or more, at most `coordinate` if that is positive
 */
export function controlledCoordinate(coordinate: number, control: number): number {
  return Math.max(LEAST_COORDINATE, coordinate - Math.max(0, control - CHANCE_COORDINATE));
}

/** Returns the sequence in reverse order. */
export function reversed(sequence: string): string {
  return [...sequence].reverse().join('');
}
