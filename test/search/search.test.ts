import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nativeBackend, nativeVariants } from '#src/kernels/native.js';
import { writeCodebook } from '#src/measure-recall/codebook.js';
import { seededRandom } from '#src/random.js';
import { openCodebookOf } from '#src/recall/codebook-sidecar.js';
import { codebookDefinition, policyDefinition } from '#src/recall/policy-card.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openRelease } from '#src/release/open.js';
import type { Release, TargetSpace } from '#src/release/release.js';
import { searchPartialResults } from '#src/search/partitions/merge.js';
import { openRange, scanRange, targetRanges } from '#src/search/partitions/scan.js';
import { planSearch } from '#src/search/plan.js';
import { search, searchMany } from '#src/search/search.js';
import type { Candidate, SearchEngine, SearchResult, SearchSettings } from '#src/search/search-types.js';
import { contextEncoder, makeHomologs } from '../tools/homologs.js';
import { qualifiedFor } from './qualification.js';

/* The promises of searchMany, for each policy. Tests of single stages are in the files beside this one. */

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`search seed ${seed}`);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-search-'));
// More proteins than the prefilter hits of both prefilter policies.
const { proteins, write } = makeHomologs(seededRandom(seed), { homologSets: 40, members: 10 });
const queries = [3, 217, 399].map((at) => ({ sequence: proteins[at]!.sequence, normalizationId: 'test' }));
const POLICIES = ['exhaustive', 'sampled', 'codebook'] as const;
type Policy = (typeof POLICIES)[number];
let release: Release;
let space: TargetSpace;
let cards: Readonly<Record<Policy, Partial<SearchEngine>>>;

beforeAll(async () => {
  release = await openRelease(await write(folder));
  space = unfilteredSpace(release);
  const files = await writeCodebook(release, {});
  cards = {
    exhaustive: {},
    sampled: { qualification: qualifiedFor(policyDefinition(40, 20)) },
    codebook: {
      qualification: qualifiedFor(codebookDefinition(15, 10, 60), files),
      codebook: await openCodebookOf(release.directory, files, release),
    },
  };
});
afterAll(() => rmSync(folder, { recursive: true }));

async function engineOf(policy: Policy, rest: Partial<SearchEngine> = {}): Promise<SearchEngine> {
  const { backend = nativeBackend() } = rest;
  const store = await backend.open(release.tokens);
  return { release, encoder: contextEncoder(), backend, store, ...cards[policy], ...rest };
}

function settingsOf(policy: Policy, rest: Partial<SearchSettings> = {}): SearchSettings {
  const guarantee = policy === 'exhaustive' ? 'exhaustive' : 'approximate';
  const evidence = 'pairwise_sequence_alignment';
  return { evidence, guarantee, significance: 'if_available', targetSpace: space, limit: 10, ...rest };
}

function everyThird(): TargetSpace {
  const eligible = Uint32Array.from(proteins.keys()).filter((target) => target % 3 === 1);
  return { ...space, id: 'htsp_test', eligible, searchedTargetCount: eligible.length };
}

function lcm(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y > 0n) [x, y] = [y, x % y];
  return (a / x) * b;
}

const digestsOf = (results: readonly SearchResult[]): readonly string[] =>
  results.map(({ resultSha256 }) => resultSha256);

describe.each(POLICIES)('a search by the %s policy', (policy) => {
  it('resolves to that policy', async () => {
    const engine = await engineOf(policy);
    const { policy: resolved } = planSearch(engine, settingsOf(policy));
    expect([resolved.isExhaustive, resolved.sampled?.usesCodebook]).toEqual(
      { exhaustive: [true, undefined], sampled: [false, false], codebook: [false, true] }[policy],
    );
    engine.store.close();
  });

  it('gives each query of a batch the result of a search with this query alone', async () => {
    const engine = await engineOf(policy);
    const settings = settingsOf(policy);
    const batch = await searchMany(queries, settings, engine);
    for (const [at, query] of queries.entries()) {
      expect(await search({ ...settings, query }, engine), `seed ${seed}`).toEqual(batch[at]);
    }
    engine.store.close();
  });

  it('gives the same digests with every kernel variant and any number of threads', async () => {
    const expected = new Set<string>();
    for (const { name } of nativeVariants().filter(({ isRunnable }) => isRunnable)) {
      for (const threads of [1, 3]) {
        const engine = await engineOf(policy, { backend: nativeBackend(name), threads });
        expected.add(digestsOf(await searchMany(queries, settingsOf(policy), engine)).join());
        engine.store.close();
      }
    }
    expect(expected.size, `seed ${seed}`).toBe(1);
  });

  it('gives the same results from partial results of partitions', async () => {
    const engine = await engineOf(policy);
    const settings = settingsOf(policy);
    const whole = await searchMany(queries, settings, engine);
    const partialResults = await Promise.all(
      targetRanges(release, 5).map(async (range) => {
        const store = await openRange(release, engine.backend, range);
        const ofRange = await scanRange(queries, settings, range, { ...engine, store });
        store.close();
        return ofRange;
      }),
    );
    expect(await searchPartialResults(queries, settings, partialResults, engine)).toEqual(whole);
    engine.store.close();
  });

  it('measures each candidate as the exhaustive policy does', async () => {
    const engine = await engineOf(policy);
    const exhaustive = settingsOf('exhaustive', { limit: proteins.length });
    const all = await searchMany(queries, exhaustive, engine);
    for (const [at, { candidates }] of (await searchMany(queries, settingsOf(policy), engine)).entries()) {
      const exact = new Map(all[at]!.candidates.map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        // Only a list that an approximate policy has selected has ranks of evidence.
        const { evidenceRank: _, ...measured } = candidate;
        expect({ ...measured, rank: 0 }).toEqual({ ...exact.get(candidate.targetIndex), rank: 0 });
      }
      const ranks = candidates.map(({ targetIndex }) => exact.get(targetIndex)!.rank);
      expect(ranks, `seed ${seed}`).toEqual([...ranks].sort((a, b) => a - b));
    }
    engine.store.close();
  });

  it('lists targets of the target space only', async () => {
    const engine = await engineOf(policy);
    const targetSpace = everyThird();
    for (const { candidates } of await searchMany(queries, settingsOf(policy, { targetSpace }), engine)) {
      expect(candidates).toHaveLength(10);
      expect(candidates.every(({ targetIndex }) => targetIndex % 3 === 1)).toBe(true);
    }
    engine.store.close();
  });

  it('counts the targets that each stage leaves, from the target space to the list', async () => {
    const engine = await engineOf(policy);
    for (const targetSpace of [space, everyThird()]) {
      for (const evidence of ['candidate_measurement', 'pairwise_sequence_alignment'] as const) {
        const settings = settingsOf(policy, { targetSpace, evidence });
        for (const { funnel, candidates } of await searchMany(queries, settings, engine)) {
          const { eligible, prefiltered, rescored, listed, aligned } = funnel;
          expect([eligible, listed]).toEqual([targetSpace.searchedTargetCount, candidates.length]);
          const counts = [eligible, prefiltered, rescored, listed, aligned];
          expect(counts, `seed ${seed}`).toEqual([...counts].sort((a, b) => b - a));
          expect(aligned).toBe(evidence === 'candidate_measurement' ? 0 : listed);
          if (policy === 'exhaustive') expect([prefiltered, rescored]).toEqual([eligible, listed]);
        }
      }
    }
    engine.store.close();
  });

  it('gives the reason why a candidate has no E-value, and refuses a search that requires one', async () => {
    const engine = await engineOf(policy);
    const kindsOf = async (significance: SearchSettings['significance']): Promise<readonly string[]> => {
      const results = await searchMany(queries, settingsOf(policy, { significance }), engine);
      return [
        ...new Set(results.flatMap(({ candidates }) => candidates.map((each) => each.significance.kind))),
      ];
    };
    expect(await kindsOf('not_requested')).toEqual(['not_requested']);
    expect(await kindsOf('if_available')).toEqual(['not_available']);
    await expect(kindsOf('required')).rejects.toMatchObject({ code: 'significance_unavailable' });
    engine.store.close();
  });
});

describe('a search by the exhaustive policy', () => {
  it('lists a prefix of every longer list, and equal distances by target id', async () => {
    const engine = await engineOf('exhaustive');
    const listOf = async (limit: number) =>
      (await searchMany(queries, settingsOf('exhaustive', { limit }), engine)).map(
        ({ candidates }) => candidates,
      );
    const longest = await listOf(proteins.length);
    for (const limit of [1, 7, 100]) {
      const lists = await listOf(limit);
      lists.forEach((list, at) => expect(list, `seed ${seed}`).toEqual(longest[at]!.slice(0, limit)));
    }
    // Exact comparison of (Sqt·Lt + Lq·Stq) / Lt: doubles would round.
    const scale = proteins.reduce((product, { sequence }) => lcm(product, BigInt(sequence.length)), 1n);
    const similarityOf = (candidate: Candidate, queryLength: number): bigint => {
      const length = release.targets.length(candidate.targetIndex);
      const numerator = candidate.queryToTargetSum * length + queryLength * candidate.targetToQuerySum;
      return (BigInt(numerator) * scale) / BigInt(length);
    };
    for (const [at, list] of longest.entries()) {
      list.slice(1).forEach((candidate, above) => {
        const before = list[above]!;
        const [left, right] = [before, candidate].map((each) =>
          similarityOf(each, queries[at]!.sequence.length),
        );
        const ids = [before, candidate].map(({ targetIndex }) => release.targets.id(targetIndex));
        if (left === right) expect(ids).toEqual([...ids].sort());
        else expect(left! > right!, `seed ${seed}`).toBe(true);
      });
    }
    engine.store.close();
  });
});
