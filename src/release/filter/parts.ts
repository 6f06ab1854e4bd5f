/** Up to so many values, a search for each of them in the text is faster. */
const SEARCHED_ONE_BY_ONE_MAX_COUNT = 48;
/** Characters by which values are found, or fewer where a value is shorter. */
const START_CHARACTERS = 4;

/**
 * Returns a function that tells whether a text contains any of the values.
 * @param values ascending by UTF-16 unit, unique
 * Cost    for each place of the text one table look-up, and a binary search among the values that begin as the text
 *         does there
 */
export function partFinder(values: readonly string[]): (text: string) => boolean {
  if (values.length <= SEARCHED_ONE_BY_ONE_MAX_COUNT) {
    return (text) => values.some((value) => text.includes(value));
  }
  const needed = withoutExtensions(values);
  const width = needed.reduce((least, { length }) => Math.min(least, length), START_CHARACTERS);
  const byStart = new Map<string, string[]>();
  for (const value of needed) {
    const start = value.slice(0, width);
    const others = byStart.get(start);
    if (others === undefined) byStart.set(start, [value]);
    else others.push(value);
  }
  return (text) => {
    for (let place = 0; place + width <= text.length; place += 1) {
      const candidates = byStart.get(text.slice(place, place + width));
      if (candidates !== undefined && beginsWithAny(text.slice(place), candidates)) return true;
    }
    return false;
  };
}

/** Removes values that begin with another one: a text that contains them contains the other one, too. */
function withoutExtensions(values: readonly string[]): string[] {
  const needed: string[] = [];
  for (const value of values) {
    const last = needed.at(-1);
    if (last === undefined || !value.startsWith(last)) needed.push(value);
  }
  return needed;
}

/**
 * Returns whether the text begins with one of the values. Only the greatest value that is at most the text is compared.
 * A text sorts after the values that it begins with, and what sorts between the two begins with that value, too.
 */
function beginsWithAny(text: string, values: readonly string[]): boolean {
  let below = 0;
  let above = values.length;
  while (below < above) {
    const middle = (below + above) >>> 1;
    if (values[middle] <= text) below = middle + 1;
    else above = middle;
  }
  return below > 0 && text.startsWith(values[below - 1]);
}
