import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrationDirectory } from '#src/significance/card.js';
import { openCodebookOf, verifyCodebook } from '#src/recall/codebook-sidecar.js';
import { codebookDefinition, policyId, type CodebookCard, type PolicyCard } from '#src/recall/policy-card.js';
import { openQualification, writePolicyCard, type Qualification } from '#src/recall/policy-sidecar.js';
import { Fault } from '#src/errors.js';
import { CENTROID_COUNT, openCodebook, type LookedUp } from '#src/kernels/codebook.js';
import type { CodebookSums } from '#src/kernels/kernels.js';
import { nativeBackend, nativeVariants } from '#src/kernels/native.js';
import { writeCodebook } from '#src/measure-recall/codebook.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS, BLOSUM62 } from '#src/sequence/substitution.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { resolvePolicy } from '#src/search/plan.js';
import { searchMany } from '#src/search/search.js';
import type { SearchEngine } from '#src/search/search-types.js';
import { makeHomologs, contextEncoder, homologsOf } from '../../tools/homologs.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`codebook seed ${seed}`);
const folder = mkdtempSync(join(tmpdir(), 'gloaming-coded-'));
const { proteins, write } = makeHomologs(seededRandom(seed), { homologSets: 40, members: 10 });
const queries = [3, 217, 399].map((at) => ({ sequence: proteins[at]!.sequence, normalizationId: 'test' }));
/** Of a long protein, the homologs alone are too many of the 40 families' residues to be rare. */
const shortest = proteins.reduce((a, b) => (b.sequence.length < a.sequence.length ? b : a));
const policy = codebookDefinition(25, 0, 60);
const FLOOR = 100;
let release: Release;
let files: CodebookCard;

beforeAll(async () => {
  release = await openRelease(await write(folder));
  files = await writeCodebook(release, {});
});
afterAll(() => rmSync(folder, { recursive: true }));

const recall = { query_count: 1, wanted_count: 1, found_count: 1, mean: 1, low: 0.2, high: 1 };
const cardOf = (): PolicyCard => ({
  format: 'gloaming-policy/1',
  release_id: release.id,
  calibration_id: null,
  policy_id: policyId(policy),
  policy,
  codes: files,
  seed: 1,
  evident_expected_false_hits: 1e-3,
  compared_target_count: 400,
  recalls: { nearest_10: recall, nearest_100: { ...recall, mean: 0.5 }, evident: null },
  strata: [],
  tried: [],
  required_recall: 0.9,
});

async function engineOf(variant?: string, threads?: number): Promise<SearchEngine> {
  const backend = nativeBackend(variant);
  const store = await backend.open(release.tokens);
  const centroids = readFileSync(join(calibrationDirectory(release.directory), files.words.path));
  const codebook = openCodebook(
    {
      ...release.tokens,
      centroids: new Int8Array(centroids.buffer, centroids.byteOffset, centroids.length),
      path: join(calibrationDirectory(release.directory), files.codes.path),
      text: () => Promise.resolve(Buffer.from(proteins.map(({ sequence }) => sequence).join(''), 'latin1')),
    },
    variant,
  );
  const qualification: Qualification = { id: 'qual_test', card: cardOf() };
  return { release, encoder: contextEncoder(), backend, store, threads, qualification, codebook };
}

const mapValues = (sums: CodebookSums, of: (values: Uint32Array) => Uint32Array): CodebookSums => ({
  excess: of(sums.excess),
  votes: of(sums.votes),
  kmers: of(sums.kmers),
});

async function lookedUp(
  { encoder }: SearchEngine,
  searched: readonly { readonly sequence: string }[],
): Promise<LookedUp> {
  const sequences = searched.map(({ sequence }) => sequence);
  return { queries: await encoder.encode(sequences), sequences };
}

/** K-mers up to this score are chance, as in kernels/engine/hit_search.cpp. */
const CHANCE_KMERS = 52;

/** Number of values that are at least as great as each, all rounded down to a sign, an exponent and seven bits. */
function ranksOf(values: readonly number[]): number[] {
  const rounded = [...new Uint32Array(Float32Array.from(values).buffer)].map((bits) => bits >>> 16);
  return rounded.map((value) => rounded.filter((other) => other >= value).length);
}

/** Targets with any score in the order of the product of their three ranks. */
function orderOf({ excess, votes, kmers }: CodebookSums, eligible?: Uint32Array) {
  const targets = [...(eligible ?? excess.keys())];
  const lengths = targets.map((target) => proteins[target]!.sequence.length);
  const above = [...kmers].map((score) => Math.max(0, score - CHANCE_KMERS));
  const ranks = [
    lengths.map((length, at) => excess[at]! / Math.sqrt(length)),
    lengths.map((length, at) => votes[at]! / Math.sqrt(Math.sqrt(length))),
    above,
  ].map(ranksOf);
  return targets
    .map((target, at) => ({
      target,
      kmers: above[at]!,
      product: ranks.reduce((product, rank) => product * rank[at]!, 1),
      isAny: excess[at]! > 0 || votes[at]! > 0 || above[at]! > 0,
    }))
    .filter(({ isAny }) => isAny)
    .sort((a, b) => a.product - b.product || a.target - b.target);
}

/** Best score of two k-mers of five of 24 and more, extended in both directions by an X-drop of 16. */
function bestUngapped(query: string, target: string): number {
  const scoreAt = (i: number, j: number): number => {
    const [a, b] = [AMINO_ACIDS.indexOf(query[i] ?? ' '), AMINO_ACIDS.indexOf(target[j] ?? ' ')];
    return a < 0 || b < 0 ? -64 : BLOSUM62[a]![b]!;
  };
  const extension = (i: number, j: number, step: number): number => {
    let [score, best] = [0, 0];
    for (let at = 0; best - score <= 16; at += step) {
      score += scoreAt(i + at, j + at);
      best = Math.max(best, score);
    }
    return best;
  };
  let best = 0;
  for (let j = 0; j + 5 <= target.length; j += 2) {
    for (let i = 0; i + 5 <= query.length; i += 1) {
      const similarity = [0, 1, 2, 3, 4].reduce((sum, k) => sum + scoreAt(i + k, j + k), 0);
      if (similarity >= 24) best = Math.max(best, extension(i + 4, j + 4, -1) + extension(i + 5, j + 5, 1));
    }
  }
  return best;
}

const settings = {
  evidence: 'candidate_measurement',
  guarantee: 'approximate',
  significance: 'if_available',
  limit: 10,
} as const;
const search = (engine: SearchEngine, searched = queries) =>
  searchMany(searched, { ...settings, targetSpace: unfilteredSpace(release) }, engine);

describe('the codebook prefilter', () => {
  it('finds the homologs of its queries and measures its candidates as the exhaustive policy does', async () => {
    const engine = await engineOf();
    const results = await search(engine);
    const space = unfilteredSpace(release);
    const all = await searchMany(
      queries,
      { ...settings, guarantee: 'exhaustive', targetSpace: space, limit: 400 },
      engine,
    );
    results.forEach(({ candidates, policy: resolved }, query) => {
      expect(resolved).toMatchObject({ isExhaustive: false, sampled: { usesCodebook: true } });
      const exact = new Map(all[query]!.candidates.map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        // Only a list that an approximate policy has selected has ranks of evidence.
        const { evidenceRank: _, ...measured } = candidate;
        expect({ ...measured, rank: 0 }).toEqual({ ...exact.get(candidate.targetIndex), rank: 0 });
      }
      const family = homologsOf(proteins, queries[query]!.sequence);
      const listed = new Set(candidates.map(({ targetIndex }) => targetIndex));
      expect(family.filter((target) => listed.has(target)).length, `seed ${seed}`).toBeGreaterThanOrEqual(9);
    });
    engine.store.close();
  });

  it.each([
    ['all', undefined],
    ['some', Uint32Array.from({ length: 130 }, (_, at) => 3 * at + 1)],
  ])(
    'hits %s targets with the least product of three ranks, as plain sums and sorts do',
    async (_, eligible) => {
      const engine = await engineOf();
      const looked = await lookedUp(engine, [shortest, ...queries]);
      const scores = await engine.codebook!.sweep(looked, eligible, FLOOR);
      const expected = scores.map((sums) => orderOf(sums, eligible));
      for (const count of [0, 1, 7, 60, 1_000]) {
        const found = await engine.codebook!.hits(looked, eligible, FLOOR, count);
        for (const [query, { targets, kmers, ranks }] of found.entries()) {
          const best = expected[query]!.slice(0, count);
          const place = new Map(best.map(({ target }, rank) => [target, rank]));
          const ascending = [...best].sort((a, b) => a.target - b.target);
          expect([...targets], `seed ${seed}`).toEqual(ascending.map(({ target }) => target));
          expect([...kmers]).toEqual(ascending.map((hit) => hit.kmers));
          expect([...ranks]).toEqual(ascending.map(({ target }) => place.get(target)));
        }
      }
      engine.store.close();
    },
  );

  it('hits no target without any score', async () => {
    const engine = await engineOf();
    // Tryptophans alone share no k-mer with the proteins, and few dot products reach the largest floor.
    const looked = await lookedUp(engine, [{ sequence: 'W'.repeat(40) }]);
    const [sums] = await engine.codebook!.sweep(looked, undefined, 255);
    const silent = [...sums!.excess.keys()].filter(
      (at) => sums!.excess[at] === 0 && sums!.votes[at] === 0 && sums!.kmers[at]! <= CHANCE_KMERS,
    );
    expect(silent.length, `seed ${seed}`).toBeGreaterThan(0);
    const [hits] = await engine.codebook!.hits(looked, undefined, 255, 1_000);
    expect(hits!.targets.filter((target) => silent.includes(target))).toHaveLength(0);
    expect(hits!.targets).toHaveLength(proteins.length - silent.length);
    engine.store.close();
  });

  it('gives the same scores by every table of kernels, with any number of threads and any other queries', async () => {
    const engine = await engineOf('reference');
    const looked = await lookedUp(engine, [shortest, ...queries]);
    const expected = await engine.codebook!.sweep(looked, undefined, FLOOR);
    const hits = await engine.codebook!.hits(looked, undefined, FLOOR, 60);
    const most = (of: 'votes' | 'kmers') => Math.max(...expected.map((sums) => Math.max(...sums[of])));
    expect(Math.min(most('votes'), most('kmers')), `seed ${seed}`).toBeGreaterThan(0);
    const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);
    for (const [threads, { name: variant }] of [
      ...runnable.map((one) => [3, one] as const),
      [1, runnable[0]!] as const,
    ]) {
      const other = await engineOf(variant, threads);
      expect(await other.codebook!.sweep(looked, undefined, FLOOR, { threads })).toEqual(expected);
      expect(await other.codebook!.hits(looked, undefined, FLOOR, 60, { threads })).toEqual(hits);
      const alone = await lookedUp(other, [queries[0]!]);
      expect(await other.codebook!.sweep(alone, undefined, FLOOR)).toEqual([expected[1]]);
      const some = Uint32Array.of(3, 4, 200, 399);
      const [first] = await other.codebook!.sweep(looked, some, FLOOR);
      expect(first).toEqual(mapValues(expected[0]!, (values) => Uint32Array.from(some, (at) => values[at]!)));
      other.store.close();
    }
    engine.store.close();
  });

  it.each(['votes', 'kmers'] as const)('ranks most homologs of a query first by %s', async (by) => {
    const engine = await engineOf();
    const { sequence } = shortest;
    const [sums] = await engine.codebook!.sweep(await lookedUp(engine, [shortest]), undefined, FLOOR);
    const family = homologsOf(proteins, sequence);
    const order = [...sums![by].keys()].sort((a, b) => sums![by][b]! - sums![by][a]!);
    const best = new Set(order.slice(0, 3 * family.length));
    expect(family.filter((target) => best.has(target)).length, `seed ${seed}`).toBeGreaterThanOrEqual(
      0.8 * family.length,
    );
    engine.store.close();
  });

  it('scores k-mers as plain loops over BLOSUM62 do', async () => {
    const engine = await engineOf();
    const { sequence } = shortest;
    const some = Uint32Array.from({ length: 40 }, (_, at) => 10 * at + 3);
    const [sums] = await engine.codebook!.sweep(await lookedUp(engine, [shortest]), some, FLOOR);
    const expected = Array.from(some, (target) => bestUngapped(sequence, proteins[target]!.sequence));
    expect([...sums!.kmers], `seed ${seed}`).toEqual(expected);
    engine.store.close();
  });

  it('never answers from an engine that lacks its codebook', async () => {
    const { codebook, ...engine } = await engineOf();
    const request = { guarantee: 'approximate', limit: 10 } as const;
    expect(codebook).toBeDefined();
    expect(() => resolvePolicy(engine, request)).toThrow('has the codebook');
    engine.store.close();
  });
});

describe('the codebook of a release', () => {
  const pathOf = (file: { readonly path: string }): string =>
    join(calibrationDirectory(release.directory), file.path);
  const opened = (card = cardOf()) => openCodebookOf(release.directory, card.codes, release);

  it('is the same each time it is made, and its files are named by their digests', async () => {
    expect(await writeCodebook(release, { threads: 1 })).toEqual(files);
    expect(files.words.path).toBe(`words-${files.words.sha256}.bin`);
    expect(files.words.size_bytes).toBe(CENTROID_COUNT * release.tokens.dimension);
    expect(await verifyCodebook(release.directory, cardOf())).toEqual([]);
  });

  it('qualifies by nearest and E ≤ 0.001, and is removed with a card that has none', async () => {
    await writePolicyCard(release.directory, cardOf());
    const expectedIds = { releaseId: release.id, calibrationId: undefined };
    expect(await openQualification(release.directory, expectedIds)).toBeDefined();
    const low = { ...cardOf(), recalls: { ...cardOf().recalls, nearest_10: { ...recall, mean: 0.89 } } };
    await writePolicyCard(release.directory, low);
    expect(await openQualification(release.directory, expectedIds)).toBeUndefined();
    const { codes: centroidIds, ...without } = cardOf();
    expect(centroidIds).toBeDefined();
    const contents = [files.words, files.codes].map(
      (file) => [pathOf(file), readFileSync(pathOf(file))] as const,
    );
    await writePolicyCard(release.directory, without);
    expect(readdirSync(calibrationDirectory(release.directory))).toEqual(['policy.json']);
    for (const [path, bytes] of contents) writeFileSync(path, bytes);
  });

  it('is refused in one sentence if a file is missing, changed, truncated, too long or elsewhere', async () => {
    expect(await opened()).toBeDefined();
    for (const file of [files.words, files.codes]) {
      const path = pathOf(file);
      const copy = `${path}.copy`;
      copyFileSync(path, copy);
      rmSync(path);
      await expect(opened()).rejects.toThrow(Fault);
      expect(await verifyCodebook(release.directory, cardOf())).toEqual([`${file.path} is missing`]);
      copyFileSync(copy, path);
      truncateSync(path, file.size_bytes - 1);
      await expect(opened()).rejects.toThrow(/should have \d+ bytes; it is \d+\.$/);
      const bytes = readFileSync(copy);
      bytes[7]! ^= 1;
      writeFileSync(path, bytes);
      expect(await verifyCodebook(release.directory, cardOf())).toEqual([`${file.path} was changed`]);
      if (file === files.words) await expect(opened()).rejects.toThrow(/was changed\.$/);
      copyFileSync(copy, path);
      rmSync(copy);
    }
    const elsewhere = { ...files, codes: { ...files.codes, path: '../targets.arrow' } };
    await expect(opened({ ...cardOf(), codes: elsewhere })).rejects.toThrow(/not by their digest\.$/);
    expect(await opened()).toBeDefined();
  });
});
