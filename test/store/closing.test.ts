import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { openControlStore } from '#src/store/control-store.js';

/* The control state closes in order: what was on its way is committed, what comes later fails at its caller. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-closing-'));
afterAll(() => rmSync(folder, { recursive: true }));

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

it('reads in every turn until the end fail only where they are called', async () => {
  const store = openControlStore(folder);
  const table = store.table<number>('numbers');
  await store.transaction(() => table.put('one', 1));
  let isClosed = false;
  void store.transaction(() => table.put('two', 2)).then(() => attempt(() => table.get('two')));
  const closed = store.close().then(() => (isClosed = true));
  while (!isClosed) {
    for (let turn = 0; turn < 20; turn += 1) {
      await Promise.resolve();
      attempt(() => table.get('one'));
    }
    await new Promise(setImmediate);
    attempt(() => table.get('one'));
  }
  await closed;
  await pause(20);
});

function attempt(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    expect(String(error)).toContain('closed');
  }
}
