import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { openCodebookOf } from '#src/recall/codebook-sidecar.js';
import { codebookDefinition, policyDefinition } from '#src/recall/policy-card.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import type { KernelBackend } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { writeCodebook } from '#src/measure-recall/codebook.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openRelease } from '#src/release/open.js';
import type { Release, TargetSpace } from '#src/release/release.js';
import { searchPartialResults } from '#src/search/partitions/merge.js';
import { openRange, scanRange, targetRanges } from '#src/search/partitions/scan.js';
import { eValueOf } from '#src/search/pairs/candidate-significance.js';
import { searchMany } from '#src/search/search.js';
import type { ProteinQuery, SearchEngine, SearchResult, SearchSettings } from '#src/search/search-types.js';
import { emulatedAddon } from '../../kernels/emulated-addon.js';
import { makeRelease } from '../../release/make-release.js';
import { fakeEncoder } from '../../tools/fake-encoder.js';
import { qualifiedFor } from '../qualification.js';
import { contextEncoder, makeHomologs } from '../../tools/homologs.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`partitions seed ${seed}`);
const random = seededRandom(seed);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-parts-'));
afterAll(() => rmSync(folder, { recursive: true }));
const PARTS = [1, 2, 7, 64];
const native = nativeBackend();

async function engineOf(release: Release, rest: Partial<SearchEngine>): Promise<SearchEngine> {
  const { backend = native } = rest;
  return { release, backend, encoder: fakeEncoder(), store: await backend.open(release.tokens), ...rest };
}

async function searchPartitions(
  queries: readonly ProteinQuery[],
  settings: SearchSettings,
  engine: SearchEngine,
  count: number,
): Promise<readonly SearchResult[]> {
  const { release, backend } = engine;
  const partialResults = targetRanges(release, count).map(async (range) => {
    const store = await openRange(release, backend, range);
    const partialResults = await scanRange(queries, settings, range, { ...engine, store });
    store.close();
    return partialResults;
  });
  return searchPartialResults(queries, settings, await Promise.all(partialResults), engine);
}

const queryOf = (sequence: string): ProteinQuery => ({ sequence, normalizationId: 'test' });

/** All targets of the release, every third one, and a few in one partition of many. */
function spacesOf(release: Release): readonly TargetSpace[] {
  const space = unfilteredSpace(release);
  const every = (step: number, count: number): TargetSpace => {
    const eligible = Uint32Array.from({ length: count }, (_, at) => step * at + 1);
    return { ...space, id: 'htsp_test', eligible, searchedTargetCount: count };
  };
  return [space, every(3, Math.floor(space.searchedTargetCount / 3)), every(1, 20)];
}

describe('a search over partitions of a release', () => {
  it('lists the candidates of a whole search, ties by id, for any partitions, limit, filter and backend', async () => {
    // Few lengths and a short pattern of tokens give many exact ties. Ids and targets have different orders.
    const targets = Array.from({ length: 400 }, (_, at) => ({
      id: `T${(at * 7919) % 400}`,
      sequence: 'ACDEFGHIKLMNPQRSTVWY'.repeat(5).slice(random.below(95)),
    }));
    const release = await openRelease(await makeRelease(join(folder, 'ties'), { targets }));
    const queries = ['MKVLAAGIT', 'ACDEFGHIKLMNPQRSTVWY'.repeat(3)].map(queryOf);
    const backends: KernelBackend[] = [native, cudaBackend(native, { addon: emulatedAddon() })];
    for (const backend of backends) {
      const engine = await engineOf(release, { backend });
      for (const targetSpace of spacesOf(release)) {
        for (const limit of [1, 7, 100, 1_000]) {
          const settings = {
            evidence: 'pairwise_sequence_alignment',
            guarantee: 'exhaustive',
            significance: 'not_requested',
            targetSpace,
            limit,
          } as const;
          const whole = await searchMany(queries, settings, engine);
          for (const count of PARTS) {
            const results = await searchPartitions(queries, settings, engine, count);
            expect(results, `${backend.name}, ${count} parts, limit ${limit}, seed ${seed}`).toEqual(whole);
          }
        }
      }
      engine.store.close();
    }
  });

  it('is refused if partitions encoded a query differently', async () => {
    const release = await openRelease(
      await makeRelease(join(folder, 'encoders'), { targets: [{ id: 'A', sequence: 'MKV' }] }),
    );
    const engine = await engineOf(release, {});
    const settings = {
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
      targetSpace: unfilteredSpace(release),
      limit: 1,
    } as const;
    const queries = [queryOf('MKVLAAGIT')];
    const encoder = contextEncoder();
    const partialResults = await scanRange(queries, settings, { from: 0, to: 1 }, { ...engine, encoder });
    await expect(searchPartialResults(queries, settings, [partialResults], engine)).rejects.toMatchObject({
      code: 'encoder_changed',
    });
    engine.store.close();
  });
});

describe('a search over partitions of a calibrated release', () => {
  // With so few proteins, most seeds leave a bin without a tail. This seed has a tail in every bin searched.
  const { proteins, write } = makeHomologs(seededRandom(1), { homologSets: 60, members: 10 });
  const queries = [proteins[3]!, proteins[217]!].map(({ sequence }) => queryOf(sequence));
  let sampled: SearchEngine;
  let coded: Pick<SearchEngine, 'qualification' | 'codebook'>;

  beforeAll(async () => {
    const release = await openRelease(await write(join(folder, 'relatives')));
    const plain = await engineOf(release, { encoder: contextEncoder() });
    await calibrateRelease({ ...plain, threads: 2 });
    const calibration = await openCalibration(release.directory, {
      id: release.id,
      targetCount: proteins.length,
    });
    sampled = { ...plain, calibration, qualification: qualifiedFor(policyDefinition(40, 20)) };
    const files = await writeCodebook(release, {});
    coded = {
      qualification: qualifiedFor(codebookDefinition(20, 10, 90), files),
      codebook: await openCodebookOf(release.directory, files, release),
    };
  }, 300_000);
  afterAll(() => sampled.store.close());

  for (const kind of ['exhaustive', 'sampled', 'coded'] as const) {
    it(`gives the ranks, E-values and digests of a whole search by the ${kind} policy`, async () => {
      const guarantee = kind === 'exhaustive' ? kind : 'approximate';
      const engine = kind === 'coded' ? { ...sampled, ...coded } : sampled;
      for (const targetSpace of spacesOf(engine.release)) {
        for (const significance of ['if_available', 'not_requested'] as const) {
          const settings = {
            evidence: 'pairwise_sequence_alignment',
            guarantee,
            significance,
            targetSpace,
            limit: 15,
          } as const;
          const whole = await searchMany(queries, settings, engine);
          const { policy } = whole[0];
          expect([policy.isExhaustive, policy.sampled?.usesCodebook === true]).toEqual([
            kind === 'exhaustive',
            kind === 'coded',
          ]);
          const all = whole.flatMap(({ candidates }) => candidates);
          const judged = all.filter(({ significance: { kind } }) => kind === 'supported');
          const isJudged = significance === 'if_available' && targetSpace.searchedTargetCount > 20;
          if (isJudged) expect(judged.length).toBeGreaterThan(0);
          for (const count of PARTS) {
            const parts = await searchPartitions(queries, settings, engine, count);
            expect(parts, `${count} parts, seed ${seed}`).toEqual(whole);
          }
        }
      }
    });
  }

  it('aligns only candidates within the largest E-value of the settings', async () => {
    const targetSpace = unfilteredSpace(sampled.release);
    for (const guarantee of ['exhaustive', 'approximate'] as const) {
      const settings = {
        evidence: 'pairwise_sequence_alignment',
        significance: 'if_available',
        guarantee,
        targetSpace,
        limit: 30,
      } as const;
      const all = await searchMany(queries, settings, sampled);
      const near = await searchMany(queries, { ...settings, alignedMaxEValue: 1e-3 }, sampled);
      const counts = { aligned: 0, others: 0 };
      for (const [query, { candidates }] of near.entries()) {
        for (const [place, candidate] of candidates.entries()) {
          const whole = all[query].candidates[place];
          const isNear = (eValueOf(whole) ?? Infinity) <= 1e-3;
          const { alignment: _, ...unaligned } = whole;
          expect(candidate).toEqual(isNear ? whole : unaligned);
          counts[isNear ? 'aligned' : 'others'] += 1;
        }
      }
      expect(counts.aligned).toBeGreaterThan(0);
      expect(counts.others).toBeGreaterThan(0);
    }
  });

  it('controls only candidates that the caller uses, and gives these as a whole search does', async () => {
    const targetSpace = unfilteredSpace(sampled.release);
    const controls = { pairs: 0, proteins: 0 };
    const counting: SearchEngine = {
      ...sampled,
      backend: {
        ...sampled.backend,
        affineScores: (...call) => {
          controls.pairs += call[2].length;
          return sampled.backend.affineScores(...call);
        },
      },
      encoder: {
        ...sampled.encoder,
        encode: (sequences, options) => {
          controls.proteins += sequences.length;
          return sampled.encoder.encode(sequences, options);
        },
      },
    };
    const usedOf = (results: readonly SearchResult[], maxEValue: number) =>
      results.map(({ candidates }) =>
        candidates
          .filter((each) => (eValueOf(each) ?? Infinity) <= maxEValue)
          .map(({ rank: _, ...measured }) => measured),
      );
    for (const guarantee of ['exhaustive', 'approximate'] as const) {
      const settings = {
        evidence: 'candidate_measurement',
        significance: 'if_available',
        guarantee,
        targetSpace,
        limit: 30,
      } as const;
      const search = async (rest: Pick<SearchSettings, 'usedMaxEValue'>) => {
        Object.assign(controls, { pairs: 0, proteins: 0 });
        const results = await searchMany(queries, { ...settings, ...rest }, counting);
        return { results, ...controls };
      };
      const whole = await search({});
      expect(whole.proteins).toBeGreaterThan(queries.length);
      const eValues = whole.results.flatMap(({ candidates }) =>
        candidates.map((each) => eValueOf(each) ?? 1),
      );
      // At the smallest E-value, one candidate is used, and at 0 none.
      for (const usedMaxEValue of [Infinity, 1e-3, Math.min(...eValues), 0]) {
        const used = await search({ usedMaxEValue });
        expect(usedOf(used.results, usedMaxEValue)).toEqual(usedOf(whole.results, usedMaxEValue));
        expect(used.pairs).toBeLessThanOrEqual(whole.pairs);
        if (usedMaxEValue === 0) expect(used.proteins).toBe(queries.length);
        if (guarantee === 'exhaustive') {
          expect(used.results.map(({ resultSha256 }) => resultSha256)).toEqual(
            whole.results.map(({ resultSha256 }) => resultSha256),
          );
        }
      }
    }
  });

  it('divides all targets by their residues only', () => {
    const { residueStarts } = sampled.release.tokens;
    const longest = Math.max(...proteins.map(({ sequence }) => sequence.length));
    for (const count of [...PARTS, 1_000]) {
      const ranges = targetRanges(sampled.release, count);
      expect(ranges).toHaveLength(count);
      expect([ranges[0].from, ranges.at(-1)!.to]).toEqual([0, proteins.length]);
      ranges.slice(1).forEach(({ from }, part) => expect(from).toBe(ranges[part].to));
      for (const { from, to } of ranges) {
        const share = residueStarts.at(-1)! / count;
        expect(Math.abs(residueStarts[to] - residueStarts[from] - share)).toBeLessThanOrEqual(longest);
      }
    }
  });
});
