import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterAll, expect, test } from 'vitest';
import { Fault } from '#src/errors.js';
import type { AffineLetters, AffineScores, MaxSimSums } from '#src/kernels/kernels.js';
import { nativeBackend, nativeVariants } from '#src/kernels/native.js';
import { seededRandom, type Random } from '#src/random.js';
import { randomProfile, randomSource, randomTokens } from './random-tokens.js';

const seed = Date.now() % 1_000_000;
console.log(`native kernels: seed ${seed}`);

const folder = mkdtempSync(join(tmpdir(), 'gloaming-kernels-'));
afterAll(() => rmSync(folder, { recursive: true }));

const parameters = { multiplier: 300, offset: 3, gapOpen: 20, gapExtend: 3 };
const lengths = [1, 15, 16, 17, 63, 64, 65, 350, 7, 1];
const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);

test.each(runnable)('$name kernels sweep with the sums of a plain loop', async ({ name }) => {
  const random = seededRandom(seed + 3);
  const source = randomSource(random, lengths, 64);
  const queries = [1, 17, 32].map((length) => randomTokens(random, length, 64));
  const backend = nativeBackend(name);
  const store = await backend.open(source);
  const eligible = Uint32Array.of(1, 7, 9);
  const floor = 900;
  const plain = await backend.maxsim(store, queries, eligible);
  const swept = await backend.sweep(store, queries, eligible, floor);
  const bestOf = (row: Int8Array, target: number): number => {
    let best = -Infinity;
    for (let at = source.residueStarts[target]!; at < source.residueStarts[target + 1]!; at += 1) {
      best = Math.max(
        best,
        row.reduce((sum, value, k) => sum + value * source.tokens.values[at * 64 + k]!, 0),
      );
    }
    return best;
  };
  swept.forEach(({ queryExcess, ...sums }, query) => {
    expect(sums).toEqual(plain[query]);
    const { values, length } = queries[query]!;
    const expected = Array.from(eligible, (target) =>
      Array.from({ length }, (_, row) => bestOf(values.subarray(row * 64, row * 64 + 64), target)).reduce(
        (sum, best) => sum + Math.max(0, best - floor),
        0,
      ),
    );
    expect([...queryExcess], `seed ${seed}`).toEqual(expected);
  });
  const lists = [eligible, Uint32Array.of(0, 1), Uint32Array.of(9)];
  const listed = await backend.sweepLists(store, queries, lists, floor);
  for (const [query, list] of lists.entries()) {
    const [alone] = await backend.sweep(store, [queries[query]!], list, floor);
    expect(listed[query], `seed ${seed}`).toEqual(alone);
  }
  store.close();
});

test.each(runnable)(
  '$name kernels give the bits of the reference, with any number of threads',
  async ({ name }) => {
    for (const dimension of [32, 64, 96, 128, 256]) {
      const random = seededRandom(seed + dimension);
      const source = randomSource(random, lengths, dimension);
      const queries = [1, 17, 90].map((length) => randomTokens(random, length, dimension));
      queries.push({ values: source.tokens.values.slice(212 * dimension, 312 * dimension), length: 100 });
      const profile = randomProfile(random, 100);
      const profiles = { values: randomProfile(random, source.residueStarts[lengths.length]!) };
      const eligible = Uint32Array.of(0, 3, 7, 8);
      const letters = randomLetters(random, queries[3]!.length, eligible);
      const results = await Promise.all(
        [nativeBackend('reference'), nativeBackend(name)].map(async (backend, threads) => {
          const store = await backend.open({ ...source, profiles });
          const options = { threads: threads + 1 };
          const query = { ...queries[3]!, profile };
          const weighted = { ...parameters, offset: 150, profileWeight: 1_331, letters };
          const bounds = { leastScores: Int32Array.of(1, 1, 9, 30), maxCount: 5 };
          const result = [
            await backend.maxsim(store, queries, undefined, options),
            await backend.maxsim(store, queries, eligible, options),
            await backend.affineScores(store, query, eligible, parameters, options),
            await backend.affineScores(
              store,
              query,
              eligible,
              { ...parameters, multiplier: 32_767 },
              options,
            ),
            await backend.affineAlign(store, query, eligible, parameters, options),
            await backend.affineScores(store, query, eligible, { ...parameters, letters }, options),
            await backend.affineAlign(store, query, eligible, { ...parameters, letters }, options),
            await backend.affineScores(store, query, eligible, weighted, options),
            await backend.affineAlign(store, query, eligible, weighted, options),
            await backend.measure(store, query, eligible, weighted, options),
            await backend.affineAlignAll(store, query, eligible, weighted, bounds, options),
            await backend.profileScores(store, query, eligible, options),
          ];
          store.close();
          return result;
        }),
      );
      expect(results[1], `seed ${seed}, dimension ${dimension}`).toEqual(results[0]);
      expect(results[0]![5]).not.toEqual(results[0]![2]);
      expect(results[0]![7]).not.toEqual(results[0]![5]);
      const [ofQueries, scores, measures] = [results[0]![1], results[0]![7], results[0]![9]];
      expect(measures).toEqual({ ...(ofQueries as readonly MaxSimSums[])[3], ...(scores as AffineScores) });
    }
  },
);

test('a pair has its swapped pieces and its repeats as alignments that do not overlap', async () => {
  const backend = nativeBackend();
  const random = seededRandom(seed);
  const dimension = 32;
  const [first, second] = [20, 30].map((length) => randomTokens(random, length, dimension).values);
  const joined = (...pieces: readonly Int8Array[]): Int8Array =>
    Int8Array.from(pieces.flatMap((piece) => [...piece]));
  const query = { values: joined(first!, second!), length: 50 };
  const tokens = { values: joined(second!, first!, second!) };
  const store = await backend.open({ dimension, residueStarts: Uint32Array.of(0, 80), tokens });
  const bounds = { leastScores: Int32Array.of(1_000), maxCount: 10 };
  const [list] = await backend.affineAlignAll(store, query, Uint32Array.of(0), parameters, bounds);
  const places = list!.alignments.map((alignment) => [
    [alignment.queryStart, alignment.queryEnd],
    [alignment.targetStart, alignment.targetEnd],
  ]);
  expect(places, `seed ${seed}`).toEqual([
    [
      [0, 50],
      [30, 80],
    ],
    [
      [20, 50],
      [0, 30],
    ],
  ]);
  expect(list!.isCut).toBe(false);
  const one = { ...bounds, maxCount: 1 };
  const [cut] = await backend.affineAlignAll(store, query, Uint32Array.of(0), parameters, one);
  expect(cut).toEqual({ alignments: [list!.alignments[0]], isCut: true });
  store.close();
});

function randomLetters(random: Random, queryLength: number, targets: Uint32Array): AffineLetters {
  const text = (length: number) => Uint8Array.from({ length }, () => 65 + random.below(26));
  return {
    scores: Int8Array.from({ length: 1_024 }, () => random.below(60) - 30),
    query: text(queryLength),
    targets: text(targets.reduce((sum, target) => sum + lengths[target]!, 0)),
  };
}

test('letters score by their table, in lower case too', async () => {
  const backend = nativeBackend();
  const tokens = { values: new Int8Array(4 * 32) };
  const store = await backend.open({ dimension: 32, residueStarts: Uint32Array.of(0, 4), tokens });
  const query = { values: new Int8Array(3 * 32), length: 3 };
  const scores = new Int8Array(1_024);
  for (const [letter, score] of [
    ['A', 7],
    ['C', 9],
  ] as const)
    scores[(letter.charCodeAt(0) % 32) * 33] = score;
  const letters = { scores, query: Buffer.from('ACA'), targets: Buffer.from('gacA') };
  const scoring = { multiplier: 1, offset: 0, gapOpen: 20, gapExtend: 3, letters };
  const [alignment] = await backend.affineAlign(store, query, Uint32Array.of(0), scoring);
  expect(alignment).toMatchObject({ score: 23, queryStart: 0, queryEnd: 3, targetStart: 1, targetEnd: 4 });
});

test('letters that do not match their residues, and scores too large, are refused', async () => {
  const backend = nativeBackend();
  const random = seededRandom(seed);
  const store = await backend.open(randomSource(random, lengths, 32));
  const query = randomTokens(random, 5, 32);
  const targets = Uint32Array.of(1, 2);
  const letters = randomLetters(random, 5, targets);
  const scored = (change: Partial<AffineLetters>, offset = 3) =>
    backend.affineScores(store, query, targets, {
      ...parameters,
      offset,
      letters: { ...letters, ...change },
    });
  await expect(scored({ query: letters.query.subarray(1) })).rejects.toThrow(/a letter for each row/);
  await expect(scored({ targets: letters.targets.subarray(1) })).rejects.toThrow(/a letter for each row/);
  await expect(scored({ scores: new Int8Array(1_023) })).rejects.toThrow(/32 × 32/);
  await expect(scored({ scores: new Int8Array(1_024).fill(-128) })).rejects.toThrow(/-127 to 127/);
  await expect(scored({}, 32_767)).rejects.toThrow(/offset/);
  expect((await scored({}, 32_639)).scores).toEqual(Int32Array.of(0, 0));
});

test('profiles score the logarithm of their overlap', async () => {
  const backend = nativeBackend();
  const row = (value: number) => Int8Array.from({ length: 32 }, (_, kind) => (kind === 3 ? value : 0));
  const tokens = { values: new Int8Array(32) };
  const profiles = { values: row(51) };
  const source = { dimension: 32, residueStarts: Uint32Array.of(0, 1), tokens, profiles };
  const store = await backend.open(source);
  const query = { values: new Int8Array(32), length: 1, profile: row(5) };
  const scoring = { multiplier: 1, offset: 0, gapOpen: 20, gapExtend: 3, profileWeight: 64 * 10 };
  // 51 × 5 + 1 is 2⁸: ten points for each of seven octaves above 2.
  const { scores } = await backend.affineScores(store, query, Uint32Array.of(0), scoring);
  expect(scores).toEqual(Int32Array.of(70));
});

test('scoring profiles that are missing, too long or negative are refused', async () => {
  const backend = nativeBackend();
  const random = seededRandom(seed);
  const source = randomSource(random, [5], 32);
  const profiles = { values: randomProfile(random, 5) };
  const scored = async (change: object, options: object, opened: object = { profiles }) =>
    backend.affineScores(
      await backend.open({ ...source, ...opened }),
      { ...randomTokens(random, 3, 32), profile: randomProfile(random, 3), ...change },
      Uint32Array.of(0),
      { ...parameters, profileWeight: 1_000, ...options },
    );
  expect((await scored({}, {})).scores).toHaveLength(1);
  await expect(scored({ profile: undefined }, {})).rejects.toThrow(/must have profiles/);
  await expect(scored({}, {}, {})).rejects.toThrow(/must have profiles/);
  await expect(scored({ profile: new Int8Array(64) }, {})).rejects.toThrow(/3 rows need 96/);
  await expect(scored({ profile: new Int8Array(96).fill(-1) }, {})).rejects.toThrow(/below 0/);
  await expect(scored({ profile: new Int8Array(96).fill(127) }, {})).rejects.toThrow(/squared norm/);
  await expect(scored({}, { offset: -8_193 })).rejects.toThrow(/-8,192/);
  await expect(scored({}, { profileWeight: 32_768 })).rejects.toThrow(/weight/);
  await expect(scored({}, {}, { profiles: { values: new Int8Array(96) } })).rejects.toThrow(/values/);
});

test('tokens in a file at an odd offset give the results of the same tokens in memory', async () => {
  const random = seededRandom(seed);
  const source = randomSource(random, lengths, 64);
  const path = join(folder, 'tokens');
  writeFileSync(path, Buffer.concat([Buffer.alloc(4_161), new Uint8Array(source.tokens.values.buffer)]));
  const backend = nativeBackend();
  const inMemory = await backend.open(source);
  const inFile = await backend.open({ ...source, tokens: { path, byteOffset: 4_161 } });
  const query = randomTokens(random, 50, 64);
  expect(await backend.maxsim(inFile, [query], undefined)).toEqual(
    await backend.maxsim(inMemory, [query], undefined),
  );
});

test('a token file that ends too early is a fault at opening, and after a later truncation', async () => {
  const source = randomSource(seededRandom(seed), lengths, 64);
  const path = join(folder, 'short');
  writeFileSync(path, source.tokens.values);
  const backend = nativeBackend();
  await expect(backend.open({ ...source, tokens: { path, byteOffset: 64 } })).rejects.toThrow(Fault);
  await expect(backend.open({ ...source, tokens: { path: `${path}?`, byteOffset: 0 } })).rejects.toThrow(
    Fault,
  );
  const store = await backend.open({ ...source, tokens: { path, byteOffset: 0 } });
  truncateSync(path, 4_096);
  await expect(backend.maxsim(store, [randomTokens(seededRandom(1), 5, 64)], undefined)).rejects.toThrow(
    /last row/,
  );
});

test('impossible shapes are refused with a reason', async () => {
  const backend = nativeBackend();
  const source = randomSource(seededRandom(seed), lengths, 64);
  const open = (change: object) => backend.open({ ...source, ...change });
  await expect(open({ dimension: 65 })).rejects.toThrow(/multiple of 32/);
  await expect(open({ dimension: 32 })).rejects.toThrow(/values/);
  await expect(open({ residueStarts: Uint32Array.of(0, 3, 3) })).rejects.toThrow(/1 to 65,535 rows/);
  await expect(open({ residueStarts: Uint32Array.of(1, 3) })).rejects.toThrow(/begin with 0/);

  const store = await open({});
  const query = randomTokens(seededRandom(seed), 5, 64);
  await expect(backend.maxsim(store, [{ ...query, length: 6 }], undefined)).rejects.toThrow(/values/);
  await expect(backend.maxsim(store, [{ values: new Int8Array(0), length: 0 }], undefined)).rejects.toThrow(
    /rows/,
  );
  const tooLong = { values: new Int8Array(64).fill(127), length: 1 };
  await expect(backend.maxsim(store, [tooLong], undefined)).rejects.toThrow(/squared norm/);
  await expect(backend.maxsim(store, [query], Uint32Array.of(2, 1))).rejects.toThrow(/ascend/);
  await expect(backend.maxsim(store, [query], Uint32Array.of(10))).rejects.toThrow(/target 10 of 10/);
  const wrong = { ...parameters, gapExtend: 21 };
  await expect(backend.affineScores(store, query, Uint32Array.of(0), wrong)).rejects.toThrow(/gap costs/);
  store.close();
  await expect(backend.maxsim(store, [query], undefined)).rejects.toThrow(/closed/);
});

test('nothing eligible, no query and no target give empty results', async () => {
  const backend = nativeBackend();
  const store = await backend.open(randomSource(seededRandom(seed), lengths, 32));
  const query = randomTokens(seededRandom(seed), 5, 32);
  const [none] = await backend.maxsim(store, [query], new Uint32Array(0));
  expect(none!.queryToTarget).toHaveLength(0);
  expect(await backend.maxsim(store, [], undefined)).toEqual([]);
  expect((await backend.affineScores(store, query, new Uint32Array(0), parameters)).scores).toHaveLength(0);
  const nothing = { dimension: 32, residueStarts: Uint32Array.of(0), tokens: { values: new Int8Array(0) } };
  const empty = await backend.open(nothing);
  expect((await backend.maxsim(empty, [query], undefined))[0]!.targetToQuery).toHaveLength(0);
});

test('an abort rejects a running search with its reason, long before its end', async () => {
  const random = seededRandom(seed);
  const source = randomSource(random, Array(20).fill(9_000), 64);
  const backend = nativeBackend();
  const store = await backend.open(source);
  const query = { values: source.tokens.values.slice(0, 9_000 * 64), length: 9_000 };
  const all = Uint32Array.from({ length: 20 }, (_, target) => target);
  const searches = [
    (signal: AbortSignal) => backend.maxsim(store, [query], undefined, { signal }),
    (signal: AbortSignal) => backend.affineScores(store, query, all, parameters, { signal }),
    (signal: AbortSignal) => backend.affineAlign(store, query, all, parameters, { signal }),
  ];
  for (const search of searches) {
    const startedAt = performance.now();
    await search(new AbortController().signal);
    const wholeMs = performance.now() - startedAt;
    const abortedMs: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const controller = new AbortController();
      const reason = new Error('enough');
      const begunAt = performance.now();
      const aborted = search(controller.signal);
      setImmediate(() => controller.abort(reason));
      await expect(aborted).rejects.toBe(reason);
      abortedMs.push(performance.now() - begunAt);
    }
    // The best of three runs, because a loaded machine can delay the event loop.
    expect(Math.min(...abortedMs)).toBeLessThan(wholeMs / 2);
  }
  await expect(searches[0]!(AbortSignal.abort(new Error('never began')))).rejects.toThrow('never began');
});

test('an abort rejects a search that still waits for threads', async () => {
  const random = seededRandom(seed);
  const backend = nativeBackend();
  const source = randomSource(random, Array(20).fill(5_000), 64);
  const store = await backend.open(source);
  const query = { values: source.tokens.values.slice(0, 20_000 * 64), length: 20_000 };
  const threads = 1;
  const blocker = new AbortController();
  const running = [1, 2, 3].map(() =>
    backend.maxsim(store, [query], undefined, { threads, signal: blocker.signal }),
  );
  const waiter = new AbortController();
  const waiting = backend.maxsim(store, [query], undefined, { signal: waiter.signal, isLowPriority: true });
  waiter.abort(new Error('not needed'));
  await expect(waiting).rejects.toThrow('not needed');
  blocker.abort(new Error('all done'));
  await Promise.all(running.map((search) => expect(search).rejects.toThrow('all done')));
});

test('a low-priority search ends with the same bits after the searches that it yielded to', async () => {
  const random = seededRandom(seed);
  const backend = nativeBackend();
  const store = await backend.open(randomSource(random, Array(40).fill(2_000), 64));
  const query = randomTokens(random, 200, 64);
  const expected = await backend.maxsim(store, [query], undefined);
  const lowPriority = backend.maxsim(store, [query], undefined, { isLowPriority: true });
  const ordinary = [1, 2, 1].map((threads) => backend.maxsim(store, [query], undefined, { threads }));
  for (const result of await Promise.all([...ordinary, lowPriority])) expect(result).toEqual(expected);
});

test('a store that is closed during a search lets the search end', async () => {
  const random = seededRandom(seed);
  const backend = nativeBackend();
  const source = randomSource(random, Array(50).fill(2_000), 64);
  const store = await backend.open(source);
  const query = randomTokens(random, 500, 64);
  const expected = await backend.maxsim(store, [query], undefined);
  const search = backend.maxsim(store, [query], undefined);
  store.close();
  store.close();
  expect(await search).toEqual(expected);
});

test('a worker thread terminated during its searches does not harm the process', async () => {
  const searchForEver = `
    const { workerData } = require('node:worker_threads');
    (async () => {
      const { nativeBackend } = await import(workerData.module);
      const values = new Int8Array(9_000 * 64).fill(3);
      const backend = nativeBackend();
      const residueStarts = Uint32Array.of(0, 9_000);
      const store = await backend.open({ dimension: 64, residueStarts, tokens: { values } });
      for (;;) await backend.maxsim(store, [{ values, length: 9_000 }], undefined);
    })();`;
  const module = import.meta.resolve('#src/kernels/native.js');
  for (let round = 0; round < 3; round++) {
    const worker = new Worker(searchForEver, { eval: true, workerData: { module } });
    await sleep(150);
    await worker.terminate();
  }
  await sleep(100);
  const backend = nativeBackend();
  const store = await backend.open(randomSource(seededRandom(seed), lengths, 32));
  expect(await backend.maxsim(store, [randomTokens(seededRandom(seed), 5, 32)], undefined)).toHaveLength(1);
});

test('unknown or unsupported kernels are a fault that names the supported ones', () => {
  expect(() => nativeBackend('abacus')).toThrow(/'abacus' cannot run here; this machine runs .*reference/);
});
