import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { Fault } from '#src/errors.js';
import { servedOperations } from '#src/kernels/choose.js';
import type { KernelBackend, TokenSource } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { planBlocks } from '#src/kernels/tensorflow-blocks.js';
import { openTensorflowGpu, tensorflowBackend, type TensorFlow } from '#src/kernels/tensorflow.js';
import { seededRandom } from '#src/random.js';
import { randomSource, randomTokens } from './random-tokens.js';

const seed = Date.now() % 1_000_000;
const parameters = { multiplier: 176, offset: 28, gapOpen: 40, gapExtend: 4 };

describe(`the TensorFlow backend, here on plain tfjs (seed ${seed})`, () => {
  const native = nativeBackend();
  // Small blocks and chunks, so that small inputs reach their edges.
  const backend: KernelBackend = tensorflowBackend(tf as unknown as TensorFlow, native, {
    variant: 'tfjs-cpu',
    blockRows: 128,
    queryRows: 32,
  });

  beforeAll(async () => {
    await tf.setBackend('cpu');
    await tf.ready();
  });

  async function both(source: TokenSource, work: (backend: KernelBackend, store: never) => Promise<unknown>) {
    const results: unknown[] = [];
    for (const tested of [native, backend]) {
      const store = await tested.open(source);
      results.push(await work(tested, store as never));
      store.close();
    }
    return results;
  }

  it.each([32, 64, 96, 256])(
    'gives the bits of the native kernels on random shapes at dimension %i',
    async (dimension) => {
      const random = seededRandom(seed + dimension);
      const lengths = [1, 300, ...Array.from({ length: 40 }, () => 1 + random.below(90))];
      const source = randomSource(random, lengths, dimension);
      const queries = [1, 31, 32, 33, 100].map((length) => randomTokens(random, length, dimension));
      const eligible = Uint32Array.of(0, 1, 7, 20, 41);
      for (const list of [undefined, eligible, new Uint32Array()]) {
        const [expected, actual] = await both(source, (tested, store) => tested.maxsim(store, queries, list));
        expect(actual).toEqual(expected);
      }
    },
  );

  it('is exact where a sum passes 2^24, beyond which float32 skips integers', async () => {
    const length = 1_200;
    const values = new Int8Array(length * 32);
    // Squared norms around 32,000, each a little different, so that a rounded sum would show.
    for (let row = 0; row < length; row++) values.set([127, 127, row % 11, 1], row * 32);
    const source = { dimension: 32, residueStarts: Uint32Array.of(0, length), tokens: { values } };
    const query = { values, length };
    const [expected, actual] = await both(source, (tested, store) =>
      tested.maxsim(store, [query], undefined),
    );
    expect(actual).toEqual(expected);
    const [{ queryToTarget }] = actual as [{ queryToTarget: Int32Array }];
    expect(queryToTarget[0]).toBeGreaterThan(2 ** 24);
    expect(Math.fround(queryToTarget[0])).not.toBe(queryToTarget[0]);
  });

  it('reads tokens from a file at an offset, and faults if the file has become too short', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-tensorflow-'));
    const random = seededRandom(seed);
    const source = randomSource(random, [5, 60, 17], 64);
    const path = join(folder, 'tokens');
    writeFileSync(path, Buffer.concat([Buffer.alloc(321), new Uint8Array(source.tokens.values.buffer)]));
    const query = randomTokens(random, 20, 64);
    const inMemory = await backend.open(source);
    const inFile = await backend.open({ ...source, tokens: { path, byteOffset: 321 } });
    const expected = await backend.maxsim(inMemory, [query], undefined);
    expect(await backend.maxsim(inFile, [query], undefined)).toEqual(expected);
    truncateSync(path, 1_000);
    await expect(backend.maxsim(inFile, [query], undefined)).rejects.toBeInstanceOf(Fault);
    inMemory.close();
    inFile.close();
    rmSync(folder, { recursive: true });
  });

  it('uses native kernels for sweeps, affine scores and alignments, and doctor reports it', async () => {
    expect(servedOperations(backend).map(({ operation, servedBy }) => `${operation}: ${servedBy}`)).toEqual([
      'maxsim: tensorflow tfjs-cpu',
      `sampled sweep: native ${native.variant}`,
      `sweep of pools: native ${native.variant}`,
      `affine score: native ${native.variant}`,
      `affine alignment: native ${native.variant}`,
    ]);
    const random = seededRandom(seed + 1);
    const source = randomSource(random, [50, 60], 64);
    const query = { values: source.tokens.values.slice(0, 40 * 64), length: 40 };
    const targets = Uint32Array.of(1, 0);
    const [expected, actual] = await both(source, async (tested, store) => [
      await tested.affineScores(store, query, targets, parameters),
      await tested.affineAlign(store, query, targets, parameters),
    ]);
    expect(actual).toEqual(expected);
  });

  it('stops when it is cancelled and leaves no tensor behind', async () => {
    const source = randomSource(seededRandom(seed + 2), new Array<number>(100).fill(100), 64);
    const query = randomTokens(seededRandom(seed), 200, 64);
    const tensorCount = tf.memory().numTensors;
    const store = await backend.open(source);
    const abort = new AbortController();
    const cancelled = backend.maxsim(store, [query], undefined, { signal: abort.signal });
    setTimeout(() => abort.abort(new Error('not needed any more')), 1);
    await expect(cancelled).rejects.toThrow('not needed any more');
    store.close();
    expect(tf.memory().numTensors).toBe(tensorCount);
  });

  it('finishes a search whose store is closed during it, and starts no other', async () => {
    const source = randomSource(seededRandom(seed + 3), [30, 40], 64);
    const query = randomTokens(seededRandom(seed), 20, 64);
    const store = await backend.open(source);
    const outliving = backend.maxsim(store, [query], undefined);
    store.close();
    expect((await outliving)[0].queryToTarget).toHaveLength(2);
    await expect(backend.maxsim(store, [query], undefined)).rejects.toThrow(/closed store/);
  });

  it('is not opened on a machine without the GPU package, rather than falling back', async () => {
    const missing: string = '@tensorflow/tfjs-node-gpu';
    const isInstalled = await import(missing).then(
      () => true,
      () => false,
    );
    if (!isInstalled)
      await expect(openTensorflowGpu(native)).rejects.toThrow(/tfjs-node-gpu cannot be loaded/);
    else expect((await openTensorflowGpu(native)).variant).toBe('gpu');
  });
});

describe('blocks of targets', () => {
  it('hold every target once, in similar lengths, within the bound', () => {
    const random = seededRandom(seed);
    const lengths = [500, ...Array.from({ length: 300 }, () => 1 + random.below(120))];
    const starts = Uint32Array.from({ length: 302 }, (_, i) =>
      lengths.slice(0, i).reduce((sum, n) => sum + n, 0),
    );
    const blocks = planBlocks(starts, 256);
    expect(blocks.flatMap(({ targets }) => [...targets]).sort((a, b) => a - b)).toEqual(
      lengths.map((_, i) => i),
    );
    for (const { targets, rows } of blocks) {
      expect(rows).toBe(Math.max(...[...targets].map((target) => lengths[target])));
      if (targets.length > 1) expect(targets.length * rows).toBeLessThanOrEqual(256);
    }
  });
});
