// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { Encoder } from '#src/encoder/encoder.js';
import { nativeBackend } from '#src/kernels/native.js';
import { OPEN_RELEASES_MAX_COUNT } from '#src/limits.js';
import type { Release } from '#src/release/release.js';
import { createEngines } from '#src/engine/engines.js';

/* Engines of releases that are vectors in memory. */

const DIMENSION = 64;
const backend = nativeBackend();

function engines(opened: string[] = []) {
  const encoder = { close: async () => undefined };
  const openRelease = async (id: string): Promise<Release> => {
    opened.push(id);
    const tokens = {
      dimension: DIMENSION,
      residueStarts: new Uint32Array([0, 1]),
      tokens: { values: new Int8Array(DIMENSION).fill(Number(id)) },
    };
    const manifest = { encoder: { id: 'encoder', sha256: 'digest' } };
    return { id, directory: '/nowhere', targets: { count: 1 }, tokens, manifest } as unknown as Release;
  };
  return createEngines({
    backend,
    threads: 1,
    indexesFolder: '/nowhere',
    openRelease,
    calibrationOf: () => undefined,
    loadEncoder: async () => encoder as unknown as Encoder,
  });
}

describe('the engine of a release', () => {
  it('stays searchable by its holders after many other releases were opened', async () => {
    const all = engines();
    const { store } = await all.open('1');
    for (let other = 2; other <= OPEN_RELEASES_MAX_COUNT + 2; other += 1) await all.open(String(other));
    const query = { length: 1, values: new Int8Array(DIMENSION).fill(2) };
    const [sums] = await backend.maxsim(store, [query], undefined);
    expect(sums.queryToTarget).toEqual(Int32Array.of(2 * DIMENSION));
    await all.close();
  });

  it('is opened anew, with its partitions, after it was forgotten, and stays searchable by its holders', async () => {
    const opened: string[] = [];
    const all = engines(opened);
    const { store } = await all.open('1');
    const whole = { index: 0, count: 1 };
    const part = await all.open('1', whole);
    await all.open('10');
    all.forget('1');
    expect((await all.open('1')).store).not.toBe(store);
    expect((await all.open('1', whole)).store).not.toBe(part.store);
    await all.open('10');
    expect(opened).toEqual(['1', '10', '1']);
    const query = { length: 1, values: new Int8Array(DIMENSION).fill(2) };
    const [sums] = await backend.maxsim(store, [query], undefined);
    expect(sums.queryToTarget).toEqual(Int32Array.of(2 * DIMENSION));
    await all.close();
  });
});
