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
import { CENTROID_COUNT, openCodebook } from '#src/kernels/codebook.js';
import type { CodebookSums } from '#src/kernels/kernels.js';
import { nativeBackend, nativeVariants } from '#src/kernels/native.js';
import { writeCodebook } from '#src/measure-recall/codebook.js';
import { seededRandom } from '#src/random.js';
import { AMINO_ACIDS, BLOSUM62 } from '#src/sequence/substitution.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { resolvePolicy } from '#src/search/plan.js';
import { bestByCodebook, hitsOf } from '#src/search/codebook.js';
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
  aligned_target_count: 400,
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

  it('selects by the product of three ranks, of excess, votes and k-mers above chance', async () => {
    // By chance, a target 16 times as long has 4 times the excess and twice the votes.
    const lengths = [100, 1_600, 100, 1_600, 100];
    const targets = { length: (target: number) => lengths[target]! } as Release['targets'];
    // Ranks by excess 2, 3, 5, 1, 5; by votes 3, 3, 1, 5, 5: equal values share the last rank. None has k-mers.
    const sums = {
      excess: Uint32Array.of(10, 39, 0, 41, 0),
      votes: Uint32Array.of(7, 14, 9, 0, 0),
      kmers: Uint32Array.of(0, 30, 0, 52, 0),
    };
    const targetsOf = async (...all: Parameters<typeof bestByCodebook>) =>
      (await bestByCodebook(...all)).map(({ target }) => target);
    const best = (count: number, eligible?: Uint32Array) => targetsOf(sums, eligible, count, { targets });
    expect(await best(1)).toEqual([2]);
    expect(await best(3)).toEqual([2, 3, 0]);
    expect(await best(5), 'the last target has nothing').toEqual([2, 3, 0, 1]);
    const longer = { length: () => 100 } as unknown as Release['targets'];
    expect(await best(5)).not.toEqual(await targetsOf(sums, undefined, 5, { targets: longer }));
    expect(await targetsOf(sums, Uint32Array.of(5, 6, 8, 9, 11), 2, { targets: longer })).toEqual([6, 9]);
    // Ranks by k-mers 2, 5, 5, 5, 1.
    const evident = { ...sums, kmers: Uint32Array.of(60, 30, 0, 52, 90) };
    const pool = await bestByCodebook(evident, undefined, 5, { targets });
    expect(pool.map(({ target, kmers }) => [target, kmers])).toEqual([
      [0, 8],
      [2, 0],
      [3, 0],
      [4, 38],
      [1, 0],
    ]);
    expect(hitsOf(pool.slice(2))).toEqual({
      targets: Uint32Array.of(1, 3, 4),
      kmers: Uint32Array.of(0, 0, 38),
    });
  });

  it('gives the same scores by every table of kernels, with any number of threads and any other queries', async () => {
    const engine = await engineOf('reference');
    const sequences = [shortest, ...queries].map(({ sequence }) => sequence);
    const tokens = await engine.encoder.encode(sequences);
    const expected = await engine.codebook!.sweep(tokens, sequences, undefined, FLOOR);
    const most = (of: 'votes' | 'kmers') => Math.max(...expected.map((sums) => Math.max(...sums[of])));
    expect(Math.min(most('votes'), most('kmers')), `seed ${seed}`).toBeGreaterThan(0);
    const runnable = nativeVariants().filter(({ isRunnable }) => isRunnable);
    for (const [threads, { name: variant }] of [
      ...runnable.map((one) => [3, one] as const),
      [1, runnable[0]!] as const,
    ]) {
      const other = await engineOf(variant, threads);
      expect(await other.codebook!.sweep(tokens, sequences, undefined, FLOOR, { threads })).toEqual(expected);
      const alone = await other.codebook!.sweep([tokens[1]!], [sequences[1]!], undefined, FLOOR);
      expect(alone).toEqual([expected[1]]);
      const some = Uint32Array.of(3, 4, 200, 399);
      const [first] = await other.codebook!.sweep(tokens, sequences, some, FLOOR);
      expect(first).toEqual(mapValues(expected[0]!, (values) => Uint32Array.from(some, (at) => values[at]!)));
      other.store.close();
    }
    engine.store.close();
  });

  it.each(['votes', 'kmers'] as const)('ranks most homologs of a query first by %s', async (by) => {
    const engine = await engineOf();
    const { sequence } = shortest;
    const [sums] = await engine.codebook!.sweep(
      await engine.encoder.encode([sequence]),
      [sequence],
      undefined,
      FLOOR,
    );
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
    const tokens = await engine.encoder.encode([sequence]);
    const some = Uint32Array.from({ length: 40 }, (_, at) => 10 * at + 3);
    const [sums] = await engine.codebook!.sweep(tokens, [sequence], some, FLOOR);
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
