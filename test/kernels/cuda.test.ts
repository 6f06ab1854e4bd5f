// @module-tag fast

import { expect, test } from 'vitest';
import { logGpus } from '#src/cli/serve/serve.js';
import { Fault } from '#src/errors.js';
import { loadAddon } from '#src/kernels/addon.js';
import { describeGpus, servedOperations } from '#src/kernels/choose.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import type { KernelRetry } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { emulatedAddon } from './emulated-addon.js';
import { randomSource, randomTokens } from './random-tokens.js';

/* The CUDA backend of src/kernels/cuda.ts with an emulated GPU. */

const native = nativeBackend();
const random = seededRandom(11);
const source = randomSource(random, [5, 90, 33, 64, 7, 200], 64);
const queries = [3, 70].map((length) => randomTokens(random, length, 64));
const eligible = Uint32Array.of(1, 2, 5);
const floor = 900;
const onCpu = await native.open(source);
const expected = await native.maxsim(onCpu, queries, eligible);
const expectedSweep = await native.sweep(onCpu, queries, eligible, floor);
const parameters = { multiplier: 300, offset: 3, gapOpen: 20, gapExtend: 3 };
const measures = await native.measure(onCpu, queries[1]!, eligible, parameters);
onCpu.close();

test('the GPU computes MaxSim, sampled sweeps and affine scores; the CPU computes the rest', async () => {
  const addon = emulatedAddon();
  const backend = cudaBackend(native, { addon });
  const store = await backend.open(source);
  expect(await backend.maxsim(store, queries, eligible)).toEqual(expected);
  expect(await backend.sweep(store, queries, eligible, floor)).toEqual(expectedSweep);
  const pools = queries.map(() => eligible);
  expect(await backend.sweepLists(store, queries, pools, floor)).toEqual(expectedSweep);
  expect(await backend.measure(store, queries[1]!, eligible, parameters)).toEqual(measures);
  const { scores: served } = await backend.affineScores(store, queries[1]!, eligible, parameters);
  expect(served).toEqual(measures.scores);
  expect(addon.gpuCalls).toEqual(['load', 'maxsim', 'sweep', 'measures', 'scores']);
  expect(await backend.affineAlign(store, queries[1]!, eligible, parameters)).toHaveLength(3);
  const weighted = { ...parameters, profileWeight: 9 };
  await expect(backend.measure(store, queries[1]!, eligible, weighted)).rejects.toThrow(/profiles/);
  await expect(backend.affineScores(store, queries[1]!, eligible, weighted)).rejects.toThrow(/profiles/);
  expect(addon.gpuCalls).toHaveLength(5);
  const [maxsim, sweep, pooled, score, alignment] = servedOperations(backend);
  for (const { servedBy } of [maxsim!, sweep!, score!]) expect(servedBy).toBe('cuda hopper');
  expect(score!.reason).toContain(`Scores with profiles are computed by native ${native.variant}.`);
  for (const { servedBy } of [pooled!, alignment!]) expect(servedBy).toBe(`native ${native.variant}`);
  store.close();
});

test('lists per query are refused on a GPU and not swept elsewhere', () => {
  const addon = loadAddon();
  const { residueStarts, tokens, dimension } = source;
  const store = addon.open(native.variant, residueStarts, dimension, tokens, undefined);
  const pools = queries.map(() => eligible);
  const unheard = (): void => expect.unreachable();
  expect(() => addon.sweep(store, queries, pools, floor, true, 1, false, unheard)).toThrow(/by the CPU/);
  addon.close(store);
});

test('doctor and the log name each unused GPU with its reason', () => {
  const addon = emulatedAddon();
  const reason = 'GPU 1: Old has compute capability 7.0, 8.0 is needed';
  expect(describeGpus(addon.gpus())).toEqual([
    'GPU 0: Emulated (9.0), 64.0 GiB, 32.0 free, driver for CUDA 13.0, hopper kernels',
    `${reason}; it is not used`,
  ]);
  const warnings: unknown[] = [];
  const log = { warn: (facts: unknown) => void warnings.push(facts), error: () => expect.unreachable() };
  logGpus(cudaBackend(native, { addon }), log);
  expect(warnings).toEqual([{ reason }]);
});

test('an error of the GPU fails its search if the configuration allows no retry', async () => {
  const addon = emulatedAddon();
  const backend = cudaBackend(native, { addon });
  const store = await backend.open(source);
  addon.failure = 'work on Emulated failed: an illegal memory access was encountered (700)';
  await expect(backend.maxsim(store, queries, eligible)).rejects.toThrow(/illegal memory access/);
  await expect(backend.sweep(store, queries, eligible, floor)).rejects.toThrow(/illegal memory access/);
  await expect(backend.nearest!(store, queries, eligible, 2)).rejects.toThrow(Fault);
  await expect(backend.measure(store, queries[1]!, eligible, parameters)).rejects.toThrow(Fault);
  await expect(backend.open(source)).rejects.toThrow(Fault);
  expect(backend.retryCount()).toBe(0);
  expect(servedOperations(backend)[0]!.reason).toMatch(/the search fails/);
  addon.failure = undefined;
  expect(await backend.maxsim(store, queries, eligible)).toEqual(expected);
  store.close();
});

test('if the configuration allows it, the CPU repeats a failed call, and results have the retry', async () => {
  const addon = emulatedAddon();
  const backend = cudaBackend(native, { addon, retriesOnCpu: true });
  const logged: KernelRetry[] = [];
  backend.watchRetries((retry) => logged.push(retry));
  addon.failure = 'the release needs 9 MiB on GPU 0: 1 MiB are missing';
  const store = await backend.open(source);
  const sums = await backend.maxsim(store, queries, eligible);
  const nearest = await backend.nearest!(store, queries, eligible, 2);
  const swept = await backend.sweep(store, queries, eligible, floor);
  const measured = await backend.measure(store, queries[1]!, eligible, parameters);
  const scored = await backend.affineScores(store, queries[1]!, eligible, parameters);
  expect(logged).toHaveLength(6);
  const [, retried, retriedNearest, retriedSweep, retriedMeasure, retriedScores] = logged;
  expect(measured).toEqual({ ...measures, retry: retriedMeasure });
  expect(scored).toEqual({ scores: measures.scores, retry: retriedScores });
  expect(sums).toEqual(expected.map((each) => ({ ...each, retry: retried })));
  expect(nearest).toEqual(expected.map((each) => ({ targets: eligible, ...each, retry: retriedNearest })));
  expect(swept).toEqual(expectedSweep.map((each) => ({ ...each, retry: retriedSweep })));
  for (const retry of logged) {
    expect(retry.servedBy).toBe(`native:${native.variant}`);
    expect(retry.cause.message).toMatch(/1 MiB are missing/);
  }
  expect(backend.retryCount()).toBe(6);
  expect(servedOperations(backend)[0]!.reason).toMatch(/the CPU repeats the search/);
  store.close();
});

test('a cancelled search and a failed assertion are not retried', async () => {
  const addon = emulatedAddon();
  const backend = cudaBackend(native, { addon, retriesOnCpu: true });
  const store = await backend.open(source);
  const controller = new AbortController();
  const search = backend.maxsim(store, queries, eligible, { signal: controller.signal });
  controller.abort(new Error('enough'));
  await expect(search).rejects.toThrow('enough');
  await expect(backend.maxsim(store, queries, Uint32Array.of(6))).rejects.toThrow(/target/);
  expect(backend.retryCount()).toBe(0);
  store.close();
});

test('searches of releases that do not fit in memory together run in turn, and none is refused', async () => {
  const addon = emulatedAddon();
  const backend = cudaBackend(native, { addon });
  const stores = await Promise.all([backend.open(source), backend.open(source)]);
  addon.isSmall = true;
  const searches = Array.from({ length: 12 }, (_, index) =>
    backend.maxsim(stores[index % 2]!, queries, eligible),
  );
  for (const sums of await Promise.all(searches)) expect(sums).toEqual(expected);
  expect(addon.gpuCalls.length).toBeGreaterThan(2 + searches.length);
  expect(backend.retryCount()).toBe(0);
  for (const store of stores) store.close();
});
