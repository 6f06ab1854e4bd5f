// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policyDefinition, policyId } from '#src/recall/policy-card.js';
import type { Qualification } from '#src/recall/policy-sidecar.js';
import { cudaBackend } from '#src/kernels/cuda.js';
import type { KernelBackend } from '#src/kernels/kernels.js';
import { nativeBackend, nativeVariants } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { resolvePolicy } from '#src/search/plan.js';
import { bestLocal } from '#src/search/prefiltered.js';
import { sampledRows, sampleTokens } from '#src/search/selection/sampling.js';
import { searchMany } from '#src/search/search.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { presentExecution, presentSearch } from '#src/services/search/present-search.js';
import { emulatedAddon } from '../../kernels/emulated-addon.js';
import { contextEncoder, makeHomologs, homologsOf } from '../../tools/homologs.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`sampled seed ${seed}`);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-sampled-'));
// More proteins than the prefilter hits of the policy below.
const { proteins, write } = makeHomologs(seededRandom(seed), { homologSets: 40, members: 10 });
const queries = [proteins[3]!, proteins[217]!].map(({ sequence }) => ({
  sequence,
  normalizationId: 'test',
}));
const settings = {
  evidence: 'pairwise_sequence_alignment',
  guarantee: 'approximate',
  significance: 'if_available',
} as const;
let release: Release;

beforeAll(async () => {
  release = await openRelease(await write(folder));
});
afterAll(() => rmSync(folder, { recursive: true }));

const recall = { wanted_count: 10, found_count: 10, query_count: 1, mean: 1, low: 0.7, high: 1 };
const enough = { ...recall, mean: 0.995 };
const lost = { ...recall, found_count: 9, mean: 0.9 };
const tried = (nearest: number, local: number, evident = recall) => ({
  nearest_count: nearest,
  striking_count: local,
  nearest_10: recall,
  nearest_100: recall,
  evident,
});
const qualification = {
  id: 'qual_test',
  card: {
    policy: policyDefinition(40, 20),
    recalls: tried(40, 20),
    evident_expected_false_hits: 0.001,
    tried: [tried(40, 20), tried(60, 10, lost), tried(60, 30, enough), tried(60, 60), tried(90, 45, lost)],
    required_recall: 0.99,
  },
} as unknown as Qualification;

async function engineOf(backend: KernelBackend, rest: Partial<SearchEngine> = {}): Promise<SearchEngine> {
  const store = await backend.open(release.tokens);
  return { release, encoder: contextEncoder(), backend, store, qualification, ...rest };
}

const search = (engine: SearchEngine, limit = 10) =>
  searchMany(queries, { ...settings, targetSpace: unfilteredSpace(release), limit }, engine);

describe('the sampled policy', () => {
  it('measures its candidates as the exhaustive policy does and lists the best evidence', async () => {
    const engine = await engineOf(nativeBackend());
    const results = await search(engine);
    const all = await searchMany(
      queries,
      { ...settings, guarantee: 'exhaustive', targetSpace: unfilteredSpace(release), limit: 400 },
      engine,
    );
    results.forEach(({ candidates }, query) => {
      const exact = new Map(all[query]!.candidates.map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        const { evidenceRank: _, ...measured } = candidate;
        expect({ ...measured, rank: 0 }).toEqual({ ...exact.get(candidate.targetIndex), rank: 0 });
      }
      // In the contract's order.
      const ranks = candidates.map(({ targetIndex }) => exact.get(targetIndex)!.rank);
      expect(ranks).toEqual([...ranks].sort((a, b) => a - b));
      const family = homologsOf(proteins, queries[query]!.sequence);
      expect(new Set(candidates.map(({ targetIndex }) => targetIndex))).toEqual(new Set(family));
    });
    engine.store.close();
  });

  it('states how it selects candidates, and a list with a lower limit is a prefix of a longer one', async () => {
    const engine = await engineOf(nativeBackend());
    const targetSpace = unfilteredSpace(release);
    const answer = async (limit: number, guarantee: 'approximate' | 'exhaustive') => {
      const request = { ...settings, guarantee, targetSpace, limit, query: queries[0]! };
      const [result] = await searchMany([request.query], request, engine);
      const database = { databaseId: 'db_1', releaseId: release.id, slug: 'test' };
      return presentSearch({ engine, request, result: result!, database, serverVersion: '' });
    };
    const [ten, twenty, forty] = await Promise.all([10, 20, 40].map((limit) => answer(limit, 'approximate')));
    for (const { ranking, candidates, is_result_limit_reached } of [ten!, twenty!, forty!]) {
      expect(ranking.selection).toBe('best_evidence');
      expect(candidates.map(({ rank }) => rank)).toEqual(candidates.map((_, above) => above + 1));
      const distances = candidates.map(({ measurements }) => measurements.maxsim.bidirectional);
      // Ranks follow exact fractions. Distances are rounded, so that neighbours can lie the other way round.
      distances.slice(1).forEach((distance, at) => expect(distance).toBeGreaterThan(distances[at]! - 1e-12));
      expect(is_result_limit_reached).toBe(true);
    }
    const byEvidence = ({ candidates }: typeof ten) =>
      [...candidates].sort((a, b) => a.evidence_rank! - b.evidence_rank!).map(({ target }) => target.id);
    expect(byEvidence(forty!).slice(0, 20)).toEqual(byEvidence(twenty!));
    expect(byEvidence(twenty!).slice(0, 10)).toEqual(byEvidence(ten!));
    expect(ten!.candidates.map(({ evidence_rank }) => evidence_rank!).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 10 }, (_, above) => above + 1),
    );
    const [exact, longer] = await Promise.all([10, 40].map((limit) => answer(limit, 'exhaustive')));
    expect(exact!.ranking.selection).toBe('nearest');
    expect(exact!.candidates).toEqual(longer!.candidates.slice(0, 10));
    expect(exact!.candidates.every((candidate) => !('evidence_rank' in candidate))).toBe(true);
    engine.store.close();
  });

  it('gives the same bits alone and in a batch, with any kernels, threads and devices', async () => {
    const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);
    const backends = [
      ...runnable.map(({ name }) => nativeBackend(name)),
      cudaBackend(nativeBackend(), { addon: emulatedAddon() }),
    ];
    const engines = await Promise.all(
      backends.flatMap((backend) => [1, 2].map((threads) => engineOf(backend, { threads }))),
    );
    const digests = await Promise.all(
      engines.map(async (engine) => (await search(engine)).map(({ resultSha256 }) => resultSha256)),
    );
    for (const digest of digests) expect(digest, `seed ${seed}`).toEqual(digests[0]);
    const targetSpace = unfilteredSpace(release);
    const alone = await searchMany([queries[1]!], { ...settings, targetSpace, limit: 10 }, engines[0]!);
    expect(alone[0]!.resultSha256).toBe(digests[0]![1]);
    for (const { store } of engines) store.close();
  });

  it('runs on a GPU if there is one, and reports a retry on the CPU', async () => {
    const addon = emulatedAddon();
    const engine = await engineOf(cudaBackend(nativeBackend(), { addon, retriesOnCpu: true }));
    const served = await search(engine);
    // Candidates are rescored on the GPU, too.
    expect(addon.gpuCalls).toEqual(['load', 'sweep', 'measures', 'measures']);
    addon.failure = 'work on Emulated failed: an illegal memory access was encountered (700)';
    const retried = await search(engine);
    expect(served.map(({ kernelRetry }) => kernelRetry)).toEqual([undefined, undefined]);
    for (const { kernelRetry } of retried) expect(kernelRetry?.servedBy).toMatch(/^native:/);
    expect(retried.map(({ resultSha256 }) => resultSha256)).toEqual(
      served.map(({ resultSha256 }) => resultSha256),
    );
    engine.store.close();
  });

  it('rescores more candidates for a longer list', async () => {
    const engine = await engineOf(nativeBackend());
    const [short, long] = [(await search(engine, 40))[0]!, (await search(engine, 60))[0]!];
    expect([short.candidates.length, long.candidates.length]).toEqual([40, 60]);
    // Rescoring 30 more candidates may displace the last of the short list, but not its best ten.
    const best = [...short.candidates].sort((a, b) => b.affine.rawScore - a.affine.rawScore).slice(0, 10);
    const listed = new Set(long.candidates.map(({ targetIndex }) => targetIndex));
    expect(best.every(({ targetIndex }) => listed.has(targetIndex))).toBe(true);
    engine.store.close();
  });

  it('lists the same candidates with and without requested significance', async () => {
    const engine = await engineOf(nativeBackend());
    const targetSpace = unfilteredSpace(release);
    const [judged] = await search(engine);
    const [plain] = await searchMany(
      queries,
      { ...settings, significance: 'not_requested', targetSpace, limit: 10 },
      engine,
    );
    expect(plain!.resultSha256).toBe(judged!.resultSha256);
    expect(plain!.candidates.every(({ significance }) => significance.kind === 'not_requested')).toBe(true);
    engine.store.close();
  });

  it('scans a filtered space only, and measures all targets of a small one', async () => {
    const engine = await engineOf(nativeBackend());
    const space = unfilteredSpace(release);
    for (const stride of [2, 20]) {
      const eligible = Uint32Array.from(proteins.keys()).filter((target) => target % stride === 1);
      const targetSpace = { ...space, id: 'htsp_test', eligible, searchedTargetCount: eligible.length };
      const [result] = await searchMany(queries, { ...settings, targetSpace, limit: 10 }, engine);
      const { candidates } = result!;
      expect(candidates).toHaveLength(10);
      expect(candidates.every(({ targetIndex }) => targetIndex % stride === 1)).toBe(true);
    }
    engine.store.close();
  });

  it('is named in the answer with its card and counts', async () => {
    const engine = await engineOf(nativeBackend());
    const policyOf = (limit: number, rest: Partial<SearchEngine> = {}) =>
      resolvePolicy({ ...engine, ...rest }, { guarantee: 'approximate', limit });
    expect(presentExecution(engine, { policy: policyOf(40) }, '').policy).toEqual({
      is_deterministic: true,
      is_exhaustive: false,
      is_fallback: false,
      outcome: 'complete_approximate',
      requested_guarantee: 'approximate',
      resolved_guarantee: 'approximate',
      resolution_reason: 'qualified_approximate_policy',
      policy_id: policyId(policyDefinition(40, 20)),
      qualification_id: 'qual_test',
      nearest_count: 40,
      striking_count: 20,
      known_losses:
        'misses none of the 10 nearest, none of the 100 nearest and none of all with E <= 0.001; of the targets that ' +
        'it measures, it lists the best by E-value, in the order of their distances',
    });
    for (const limit of [41, 60]) {
      expect(policyOf(limit)).toMatchObject({
        id: policyId(policyDefinition(60, 30)),
        isExhaustive: false,
        sampled: {
          nearestCount: 60,
          localCount: 30,
          qualificationId: 'qual_test',
          losses: 'misses none of the 10 nearest, none of the 100 nearest and 0.5 % of all with E <= 0.001',
        },
      });
    }
    // The largest policy on the card has too little recall.
    expect(policyOf(61)).toMatchObject({
      isExhaustive: true,
      isFallback: true,
      resolutionReason: 'limit_exceeds_qualified_policy',
    });
    expect(policyOf(1, { qualification: undefined }).resolutionReason).toBe(
      'no_qualified_approximate_policy',
    );
    expect(resolvePolicy(engine, { guarantee: 'exhaustive', limit: 1 }).resolutionReason).toBe(
      'exhaustive_requested',
    );
    engine.store.close();
  });
});

describe('the sampled rows', () => {
  it('are all rows of a short query and 32 evenly spread rows of a long one', () => {
    expect([...sampledRows(3, 32)]).toEqual([0, 1, 2]);
    for (const length of [32, 33, 100, 413, 65_535]) {
      const rows = [...sampledRows(length, 32)];
      expect(rows).toHaveLength(32);
      const gaps = rows.slice(1).map((row, at) => row - rows[at]!);
      expect(Math.max(...gaps) - Math.min(...gaps)).toBeLessThanOrEqual(1);
      expect(rows[0]! + rows[31]!).toBeGreaterThanOrEqual(length - 2);
      expect(rows[31]).toBeLessThan(length);
    }
  });

  it('have the tokens of the query', () => {
    const values = Int8Array.from({ length: 64 * 32 }, (_, at) => Math.floor(at / 32));
    const sampled = sampleTokens({ values, length: 64 }, 32);
    expect(sampled.length).toBe(32);
    expect([...sampled.values.filter((_, at) => at % 32 === 0)]).toEqual([...sampledRows(64, 32)]);
  });
});

describe('the best local matches', () => {
  const targets = { length: (target: number) => (target === 2 ? 16 * 16 * 16 * 16 : 1) };
  it('have the greatest excess for their length, and none is without excess', async () => {
    const release = { targets } as unknown as Release;
    const excess = Int32Array.of(5, 0, 60, 7, 0, 5);
    expect(await bestLocal(excess, undefined, 2, release)).toEqual([3, 0]);
    expect(await bestLocal(excess, undefined, 10, release)).toEqual([3, 0, 5, 2]);
    const eligible = Uint32Array.of(10, 11, 12, 13, 14, 15);
    expect(await bestLocal(excess, eligible, 1, release)).toEqual([12]);
  });
});
