// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, describe, expect, it } from 'vitest';
import { nativeBackend } from '#src/kernels/native.js';

/* Memory of an abandoned store. */

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const DIMENSION = 64;
const MAPS = '/proc/self/maps';
const folder = mkdtempSync(join(tmpdir(), 'gloaming-abandon-'));
const path = join(folder, 'tokens');
writeFileSync(path, new Int8Array(3 * DIMENSION).fill(1));
afterAll(() => rmSync(folder, { recursive: true }));
const isMapped = (): boolean => readFileSync(MAPS, 'utf8').includes(path);

/** Opens a store, abandons it, searches it and returns the sums without the store. */
async function searchAbandoned(): Promise<Int32Array> {
  const backend = nativeBackend();
  const residueStarts = Uint32Array.of(0, 1, 3);
  const store = await backend.open({ dimension: DIMENSION, residueStarts, tokens: { path, byteOffset: 0 } });
  store.abandon();
  store.abandon();
  collect();
  const query = { length: 1, values: new Int8Array(DIMENSION).fill(2) };
  const [sums] = await backend.maxsim(store, [query], undefined);
  expect(isMapped()).toBe(true);
  return sums.queryToTarget;
}

describe.skipIf(process.platform !== 'linux')('an abandoned store', () => {
  it('serves each holder of a reference and is freed with the last reference', async () => {
    expect([...(await searchAbandoned())]).toEqual([2 * DIMENSION, 2 * DIMENSION]);
    await expect
      .poll(() => {
        collect();
        return isMapped();
      })
      .toBe(false);
  });

  it('may be closed after it was abandoned', async () => {
    const residueStarts = Uint32Array.of(0, 1, 3);
    const tokens = { path, byteOffset: 0 };
    const store = await nativeBackend().open({ dimension: DIMENSION, residueStarts, tokens });
    store.abandon();
    store.close();
    store.abandon();
    expect(isMapped()).toBe(false);
  });
});
