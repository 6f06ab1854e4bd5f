import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { openControlStore } from '#src/store/control-store.js';

/* The control state closes in order: what was on its way is committed, what comes later fails at its caller. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-closing-'));
afterEach(() => rmSync(folder, { recursive: true }));

it('a read during the last commit succeeds; later reads and writes throw in the caller', async () => {
  const store = openControlStore(folder);
  const table = store.table<number>('numbers');
  const commit = store.transaction(() => table.put('one', 1));
  const closed = store.close();
  expect(table.get('one')).toBeUndefined();
  await expect(store.transaction(() => table.put('two', 2))).rejects.toThrow('closed');
  await commit;
  await closed;
  expect(() => table.get('one')).toThrow('closed');

  // LMDB renews read transactions in a timer. An error in it would end the process, and this test run.
  await pause(20);
  const again = openControlStore(folder);
  expect([again.table('numbers').get('one'), again.table('numbers').get('two')]).toEqual([1, undefined]);
  await again.close();
});
