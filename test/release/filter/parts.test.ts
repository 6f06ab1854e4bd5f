// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partFinder } from '#src/release/filter/parts.js';

/* Few letters, so that values begin, end and contain each other; surrogates, so that order is that of UTF-16 units. */
const letter = fc.constantFrom('a', 'b', 'c', '\uffff', '\u{10000}', '\ud800');
const text = (maxLength: number) =>
  fc.array(letter, { maxLength }).map((letters: readonly string[]) => letters.join(''));

/** Values as a clause has them. */
const sorted = (values: readonly string[]): string[] => [...new Set(values)].sort();

describe('a finder of parts', () => {
  it('says of every text what a search for each value says', () => {
    const values = fc.array(text(9), { minLength: 60, maxLength: 200 }).map(sorted);
    fc.assert(
      fc.property(values, fc.array(text(30), { maxLength: 20 }), (parts, texts) => {
        const find = partFinder(parts);
        for (const each of texts) expect(find(each)).toBe(parts.some((part) => each.includes(part)));
      }),
      { numRuns: 300, verbose: true },
    );
  });

  it('finds values that are shorter than all others, at the end of a text, and the empty value', () => {
    const words = Array.from({ length: 100 }, (_, index) => `word${index}`);
    const find = partFinder(sorted([...words, 'z']));
    expect(['xz', 'z', 'word7', 'a word99'].map(find)).toEqual([true, true, true, true]);
    expect(['y', '', 'word', 'ord7'].map(find)).toEqual([false, false, false, false]);
    expect(['', 'x'].map(partFinder(sorted([...words, ''])))).toEqual([true, true]);
  });
});
