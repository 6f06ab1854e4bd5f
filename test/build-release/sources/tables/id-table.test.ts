// @module-tag fast

import { describe, expect, it } from 'vitest';
import { createIdTable } from '#src/build-release/sources/tables/id-table.js';

describe('a table of ids', () => {
  it('finds every stored id among many, and no other', () => {
    const table = createIdTable();
    // Ids as in databases: long common prefixes with consecutive numbers.
    const ids = Array.from({ length: 200_000 }, (_, at) => `UniRef90_A0A${at.toString(36).toUpperCase()}`);
    ids.forEach((id, at) => table.set(id, at));
    expect(ids.filter((id, at) => table.get(id) !== at)).toEqual([]);
    expect(ids.filter((id) => table.get(`${id}x`) !== undefined)).toEqual([]);
  });

  it('distinguishes ids that differ in order, length or one character', () => {
    const table = createIdTable();
    const ids = [
      '',
      'a',
      'b',
      'ab',
      'ba',
      'aab',
      'aba',
      'baa',
      'a'.repeat(256),
      'a'.repeat(255),
      '\0',
      '\0\0',
    ];
    ids.forEach((id, at) => table.set(id, at));
    expect(ids.map((id) => table.get(id))).toEqual(ids.map((_, at) => at));
  });
});
