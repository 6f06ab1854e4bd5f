// @module-tag fast

import { expect, it } from 'vitest';
import { warnOfRepeatedIds } from '#src/cli/search/repeated-ids.js';

/** Takes queries with these ids. Returns what standard error gets. */
async function warningOf(ids: readonly string[]): Promise<string> {
  let written = '';
  const stderr = { write: (text: string) => (written += text) };
  async function* queries() {
    for (const id of ids) yield { id, sequence: 'MKV', normalizationId: 'n' };
  }
  const taken: string[] = [];
  for await (const { id } of warnOfRepeatedIds(queries(), { stderr } as never)) taken.push(id);
  expect(taken).toEqual(ids);
  return written;
}

it('queries with different ids give no warning', async () => {
  expect(await warningOf(['a', 'b', 'A', 'c'])).toBe('');
});

it('queries with the id of an earlier one give one warning with the first id and their count', async () => {
  expect(await warningOf(['a', 'b', 'b', 'a', 'b'])).toBe(
    'gloaming: warning: query_ids_repeated: 3 queries have the id of an earlier query, the first of them b. ' +
      'Formats that name queries by their ids do not tell their rows apart.\n',
  );
  expect(await warningOf(['a', 'a'])).toBe(
    'gloaming: warning: query_ids_repeated: 1 query has the id of an earlier query, the first of them a. ' +
      'Formats that name queries by their ids do not tell its rows apart.\n',
  );
});
