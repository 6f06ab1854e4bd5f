// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Calibration } from '#src/significance/calibration.js';
import { seededRandom } from '#src/random.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import type { KernelBackend } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { nearestSums } from '#src/search/exhaustive.js';
import { planSearch } from '#src/search/plan.js';
import { searchMany } from '#src/search/search.js';
import type { SearchEngine, SearchResult } from '#src/search/search-types.js';
import { presentExecution, searchWarnings } from '#src/services/search/present-search.js';
import { fakeEncoder } from '../tools/fake-encoder.js';
import { emulatedAddon } from '../kernels/emulated-addon.js';
import { makeRelease } from '../release/make-release.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`compare seed ${seed}`);
const random = seededRandom(seed);
const sequences = Array.from({ length: 400 }, () => 'ACDEFGHIKLMNPQRSTVWY'.repeat(5).slice(random.below(95)));
const queries = ['MKVLAAGIT', 'ACDEFGHIKLMNPQRSTVWY'.repeat(3)].map((sequence) => ({
  sequence,
  normalizationId: 'test',
}));
const settings = {
  evidence: 'pairwise_sequence_alignment',
  guarantee: 'exhaustive',
  significance: 'not_requested',
} as const;

const NO_DIFFERENCE = {
  proteinCount: 32,
  residueCount: 6_400,
  differingProteinCount: 0,
  differingResidueCount: 0,
  largestDifference: 0,
};
const folder = mkdtempSync(join(tmpdir(), 'gloaming-compare-'));
const native = nativeBackend();
let release: Release;

beforeAll(async () => {
  // Few lengths and a short pattern of tokens give many exact ties. Ids and targets have different orders.
  const targets = sequences.map((sequence, at) => ({ id: `T${(at * 7919) % 400}`, sequence }));
  release = await openRelease(await makeRelease(folder, { targets }));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function engineOf(backend: KernelBackend, calibration?: Calibration): Promise<SearchEngine> {
  const store = await backend.open(release.tokens);
  return { release, encoder: fakeEncoder(), backend, store, calibration };
}

/** Results without their retries. */
const lasting = (results: readonly SearchResult[]): unknown =>
  results.map(({ kernelRetry: _, ...rest }) => rest);

describe('a backend that selects the best targets on its device', () => {
  it('gives every search the result of the CPU, with ties and filters', async () => {
    const [cpu, gpu] = [
      await engineOf(native),
      await engineOf(cudaBackend(native, { addon: emulatedAddon() })),
    ];
    const space = unfilteredSpace(release);
    const eligible = Uint32Array.from(sequences.keys()).filter((target) => target % 3 === 1);
    const filtered = { ...space, id: 'htsp_test', eligible, searchedTargetCount: eligible.length };
    for (const targetSpace of [space, filtered]) {
      for (const limit of [1, 7, 100, 1_000]) {
        const limited = { ...settings, targetSpace, limit };
        const expected = await searchMany(queries, limited, cpu);
        expect(lasting(await searchMany(queries, limited, gpu)), `limit ${limit}`).toEqual(lasting(expected));
      }
    }
    cpu.store.close();
    gpu.store.close();
  });

  it('also measures the reference set of a calibration, which need not be among the best', async () => {
    const referenceSet = { kind: 'targets', targets: Uint32Array.of(0, 17, 200, 399) };
    const calibration = { referenceSet } as unknown as Calibration;
    const addon = emulatedAddon();
    const [cpu, gpu] = [
      await engineOf(native, calibration),
      await engineOf(cudaBackend(native, { addon }), calibration),
    ];
    const tokens = await fakeEncoder().encode(queries.map(({ sequence }) => sequence));
    const limited = {
      ...settings,
      targetSpace: unfilteredSpace(release),
      limit: 3,
      significance: 'if_available',
    } as const;
    const encoded = queries.map((query, at) => ({ ...query, tokens: tokens[at]! }));
    const referenceSumsOf = async (engine: SearchEngine): Promise<unknown> => {
      const work = { engine, options: {}, optionsOf: () => ({}) };
      const scanned = {
        nearest: () => nearestSums(tokens, undefined, limited.limit, engine, {}),
        sweep: () => Promise.reject(new Error('an exhaustive search sweeps no rows')),
      };
      const compared = await planSearch(engine, limited).compare(encoded, scanned, work);
      return Promise.all(compared.map(async (compare) => (await compare()).referenceSums));
    };
    const expected = await referenceSumsOf(cpu);
    expect(await referenceSumsOf(gpu)).toEqual(expected);
    expect(expected).toHaveLength(2);
    expect(addon.gpuCalls).toEqual(['load', 'nearest', 'maxsim']);
    cpu.store.close();
    gpu.store.close();
  });
});

describe('an answer', () => {
  it('of the CPU in place of a GPU has the same result and names the serving backend', async () => {
    const addon = emulatedAddon();
    const engine = await engineOf(cudaBackend(native, { addon, retriesOnCpu: true }));
    const targetSpace = unfilteredSpace(release);
    const limited = { ...settings, targetSpace, limit: 5 };
    const [served] = await searchMany(queries, limited, engine);
    addon.failure = 'work on Emulated failed: an illegal memory access was encountered (700)';
    const [retried] = await searchMany(queries, limited, engine);
    expect(lasting([retried!])).toEqual(lasting([served!]));
    const engineNamed = (result: SearchResult): string => presentExecution(engine, result, '').engine;
    expect(engineNamed(served!)).toBe('cuda:hopper');
    expect(engineNamed(retried!)).toBe(`native:${native.variant}`);
    const codesOf = (result: SearchResult): readonly string[] =>
      searchWarnings(engine, targetSpace, result.kernelRetry?.servedBy).map(({ code }) => code);
    expect(codesOf(served!)).not.toContain('kernels_retried_on_cpu');
    expect(codesOf(retried!)).toContain('kernels_retried_on_cpu');
    engine.store.close();
  });

  it('names the serving backend if a GPU failed at the affine scores only', async () => {
    const addon = emulatedAddon();
    const affine = addon.affine.bind(addon);
    addon.affine = ((...parameters: Parameters<typeof affine>) => {
      addon.failure = 'work on Emulated failed: an illegal memory access was encountered (700)';
      return affine(...parameters);
    }) as typeof affine;
    const engine = await engineOf(cudaBackend(native, { addon, retriesOnCpu: true }));
    const targetSpace = unfilteredSpace(release);
    const limited = { ...settings, targetSpace, limit: 5, evidence: 'candidate_measurement' } as const;
    const [retried] = await searchMany([queries[0]!], limited, engine);
    expect(addon.gpuCalls).toEqual(['load', 'nearest', 'scores']);
    expect(retried!.kernelRetry!.servedBy).toBe(`native:${native.variant}`);
    engine.store.close();
  });

  it('warns if the encoder rounds differently from the CPU', async () => {
    const engine = await engineOf(native);
    const differenceFromCpu = { ...NO_DIFFERENCE, differingProteinCount: 1 };
    const differing = { ...engine, encoder: { ...engine.encoder, device: 'cuda', differenceFromCpu } };
    const codesOf = (one: SearchEngine): readonly string[] =>
      searchWarnings(one, unfilteredSpace(release), undefined).map(({ code }) => code);
    expect(codesOf(engine)).not.toContain('encoder_tokens_differ');
    expect(codesOf(differing)).toContain('encoder_tokens_differ');
    engine.store.close();
  });
});
