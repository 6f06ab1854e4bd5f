// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Pages } from '#src/services/pages.js';

const pages = new Pages(Buffer.alloc(32, 7));
const names = ['ant', 'bee', 'cat', 'dog', 'eel'].map((name) => ({ name }));
const keyOf = (item: { name: string }): string => item.name;
const list = ['lab', 'animals'];

describe('pages', () => {
  it('give every item once, in order, whatever the page size', () => {
    for (const limit of [1, 2, 3, 5, 9]) {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = pages.cut(names, keyOf, { limit, cursor }, list);
        seen.push(...page.data.map(keyOf));
        expect(page.has_more).toBe(page.next_cursor !== null);
        cursor = page.next_cursor ?? undefined;
      } while (cursor !== undefined);
      expect(seen).toEqual(names.map(keyOf));
    }
  });

  it('run backwards in a list that is newest first', () => {
    const first = pages.cut(names, keyOf, { limit: 2 }, list, 'descending');
    const second = pages.cut(names, keyOf, { limit: 9, cursor: first.next_cursor! }, list, 'descending');
    expect([...first.data, ...second.data].map(keyOf)).toEqual(['eel', 'dog', 'cat', 'bee', 'ant']);
  });

  it('continue after the last item even if it was deleted', () => {
    const { next_cursor: cursor } = pages.cut(names, keyOf, { limit: 2 }, list);
    const left = names.filter(({ name }) => name !== 'bee');
    expect(pages.cut(left, keyOf, { limit: 1, cursor: cursor! }, list).data.map(keyOf)).toEqual(['cat']);
  });

  it('refuse a cursor of another list, another server, or none at all', () => {
    const { next_cursor: cursor } = pages.cut(names, keyOf, { limit: 2 }, list);
    const other = new Pages(Buffer.alloc(32, 8));
    const tampered = `${cursor!.slice(0, -1)}${cursor!.endsWith('A') ? 'B' : 'A'}`;
    const attempt = (from: typeof pages, text: string, of: string[]) => () =>
      from.cut(names, keyOf, { limit: 2, cursor: text }, of);
    expect(attempt(pages, cursor!, list)).not.toThrow();
    for (const refused of [
      attempt(pages, cursor!, ['others', 'animals']),
      attempt(other, cursor!, list),
      attempt(pages, tampered, list),
      attempt(pages, 'x', list),
      attempt(pages, '!!!', list),
    ]) {
      expect(refused).toThrow(/has not issued the cursor/);
    }
  });
});
