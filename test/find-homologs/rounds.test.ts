import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listByRounds, mergeRounds, searchEachRound, searchRounds } from '#src/find-homologs/rounds.js';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { nativeBackend } from '#src/kernels/native.js';
import type { QueryTokens } from '#src/kernels/kernels.js';
import type { PolicyCard } from '#src/recall/policy-card.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openRelease } from '#src/release/open.js';
import { eValueOf } from '#src/search/pairs/candidate-significance.js';
import { searchMany } from '#src/search/search.js';
import type { SearchEngine, SearchResult } from '#src/search/search-types.js';
import { AMINO_ACIDS } from '#src/sequence/substitution.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

/*
 * Real kernels over proteins whose tokens are random, and a family whose tokens are those of an ancestor with noise.
 * The mean over near members has less noise, so that it resembles a far member more than any one member does.
 */

const DIMENSION = 32;
/** The quantisation of profiles, so that means have the length of other tokens (make-release.ts). */
const NORM = 173;
const UNRELATED = 300;
const LENGTH = 100;
const NEAR = 8;
const NEAR_NOISE = 1.4;
const FAR_NOISE = 2.4;
const ROUNDS = 3;
const MAX_EVALUE = 1e-3;

const RECALL = { query_count: 1, wanted_count: 1, found_count: 1, mean: 1, low: 1, high: 1 };
const RECALLS = { nearest_10: RECALL, nearest_100: RECALL, evident: RECALL };

const folder = mkdtempSync(join(tmpdir(), 'gloaming-rounds-'));
const backend = nativeBackend();
const random = seededRandom(5);
const tokensBySequence = new Map<string, Int8Array>();
const encodedSequences: string[] = [];
let engine: SearchEngine;

/** Sum of uniform numbers: close enough to a normal one. */
const noise = (): number => random.below(1_000) + random.below(1_000) + random.below(1_000) - 1_498;
const rowOf = (): number[] => unit(Array.from({ length: DIMENSION }, noise));
const ancestor = Array.from({ length: LENGTH }, rowOf);

function unit(row: readonly number[]): number[] {
  const norm = Math.hypot(...row);
  return row.map((value) => value / norm);
}

/** A protein with these tokens; by default its letters are random. */
function protein(
  id: string,
  rows: readonly (readonly number[])[],
  sequence = rows.map(() => AMINO_ACIDS[random.below(20)]).join(''),
): { id: string; sequence: string } {
  tokensBySequence.set(
    sequence,
    Int8Array.from(rows.flat(), (value) => Math.round(NORM * value)),
  );
  return { id, sequence };
}

function member(id: string, share: number): { id: string; sequence: string } {
  return protein(
    id,
    ancestor.map((row) => {
      const other = rowOf();
      return unit(row.map((value, at) => value + share * other[at]!));
    }),
  );
}

const unrelated = Array.from({ length: UNRELATED }, (_, index) =>
  protein(`u${index}`, Array.from({ length: 60 + random.below(101) }, rowOf)),
);
const near = Array.from({ length: NEAR }, (_, index) => member(`near${index}`, NEAR_NOISE));
const far = Array.from({ length: 6 }, (_, index) => member(`far${index}`, FAR_NOISE));
const targets = [...unrelated, ...near, ...far];

/** Tokens of a known protein, and random ones for any other, such as a reversed query. */
function tokensOf(sequence: string): QueryTokens {
  encodedSequences.push(sequence);
  if (!tokensBySequence.has(sequence)) protein('', [...sequence].map(rowOf), sequence);
  return { values: tokensBySequence.get(sequence)!, length: sequence.length };
}

beforeAll(async () => {
  const tokens = targets.map(({ sequence }) => tokensBySequence.get(sequence)!);
  const values = Int8Array.from(tokens.flatMap((part) => [...part]));
  const token = (row: number, column: number): number => values[row * DIMENSION + column]!;
  const release = await openRelease(await makeRelease(folder, { targets, dimension: DIMENSION, token }));
  const store = await backend.open(release.tokens);
  const encoder = {
    ...fakeEncoder(),
    encode: async (sequences: readonly string[]) => sequences.map(tokensOf),
  };
  engine = { release, backend, store, encoder, threads: 1 };
  await calibrateRelease({
    release,
    backend,
    store,
    encoder,
    threads: 1,
    referenceSet: { count: 24, minimumResidues: 60, maximumResidues: 90 },
  });
  const identity = { id: release.id, targetCount: release.targets.count };
  engine = { ...engine, calibration: await openCalibration(release.directory, identity) };
}, 120_000);
afterAll(() => {
  engine.store.close();
  rmSync(folder, { recursive: true });
});

const settings = () => ({
  targetSpace: unfilteredSpace(engine.release),
  limit: targets.length,
  evidence: 'pairwise_sequence_alignment' as const,
  guarantee: 'exhaustive' as const,
  significance: 'required' as const,
});
const queryOf = ({ sequence }: { sequence: string }) => ({ sequence, normalizationId: 'test' });

/** Ids of the candidates within the E-value. */
function found({ candidates }: SearchResult): string[] {
  return candidates
    .filter((candidate) => (eValueOf(candidate) ?? Infinity) <= MAX_EVALUE)
    .map(({ targetIndex }) => engine.release.targets.id(targetIndex));
}

const isOfFamily = (id: string): boolean => !id.startsWith('u');

describe('a search in rounds', () => {
  it('finds far members of a family by the profile of the near ones, and nothing unrelated', async () => {
    const [results] = await searchEachRound([queryOf(near[0]!)], settings(), ROUNDS, engine);
    const [first, second] = results!;
    expect(found(first!).every(isOfFamily)).toBe(true);
    expect(found(second!).every(isOfFamily)).toBe(true);
    const ofFar = (result: SearchResult): string[] => found(result).filter((id) => id.startsWith('far'));
    expect(ofFar(first!).length).toBeLessThan(far.length);
    expect(ofFar(second!)).toHaveLength(far.length);
  });

  it('lists each protein of all rounds once, by E-value, with its last alignment', async () => {
    const [results] = await searchEachRound([queryOf(near[0]!)], settings(), ROUNDS, engine);
    const merged = mergeRounds(results!, MAX_EVALUE);
    const ids = found(merged);
    expect(merged.candidates).toHaveLength(ids.length);
    expect(new Set(ids)).toEqual(new Set(results!.flatMap(found)));
    const eValues = merged.candidates.map((candidate) => eValueOf(candidate)!);
    expect(eValues).toEqual(eValues.toSorted((a, b) => a - b));
    expect(merged.candidates.map(({ rank }) => rank)).toEqual(ids.map((_, index) => index + 1));
    const last = results!.at(-1)!.candidates.find(({ targetIndex }) => targetIndex === UNRELATED + 1)!;
    expect(merged.candidates.find(({ targetIndex }) => targetIndex === UNRELATED + 1)).toEqual({
      ...last,
      rank: expect.any(Number),
    });
    const [again] = await searchRounds(
      [queryOf(near[0]!)],
      { ...settings(), rounds: ROUNDS, maxEValue: MAX_EVALUE },
      engine,
    );
    expect(again).toEqual(merged);
  });

  it('lists homologs with their alignments and the first round that found each', async () => {
    const bounds = { rounds: ROUNDS, maxEValue: MAX_EVALUE, limit: targets.length };
    const listed = await listByRounds(queryOf(near[0]!), bounds, engine);
    const [first] = (await searchEachRound([queryOf(near[0]!)], settings(), 1, engine))[0]!;
    expect(new Set(listed.filter(({ round }) => round === 1).map(({ id }) => id))).toEqual(
      new Set(found(first!)),
    );
    const ofFar = listed.filter(({ id }) => id.startsWith('far'));
    expect(ofFar).toHaveLength(far.length);
    expect(ofFar.some(({ round }) => round === 2)).toBe(true);
    for (const { id, residues, targetStart } of listed) {
      const target = targets.find((each) => each.id === id)!;
      expect(target.sequence.slice(targetStart, targetStart + residues.length)).toBe(residues);
    }
  });

  it('lists nothing for a protein without E-values, and refuses a release without them', async () => {
    const bounds = { rounds: ROUNDS, maxEValue: MAX_EVALUE, limit: targets.length };
    const short = protein('short', Array.from({ length: 12 }, rowOf));
    expect(await listByRounds(queryOf(short), bounds, engine)).toEqual([]);
    const uncalibrated = { ...engine, calibration: undefined };
    await expect(listByRounds(queryOf(near[0]!), bounds, uncalibrated)).rejects.toMatchObject({
      code: 'significance_unavailable',
    });
  });

  it('has the results of the rounds of single queries for many queries', async () => {
    const queries = [near[0]!, unrelated[0]!, far[0]!].map(queryOf);
    const together = await searchEachRound(queries, settings(), ROUNDS, engine);
    for (const [index, query] of queries.entries()) {
      const [alone] = await searchEachRound([query], settings(), ROUNDS, engine);
      expect(together[index]!.map(({ candidates }) => candidates)).toEqual(
        alone!.map(({ candidates }) => candidates),
      );
    }
  });

  it('widens the list of a query only while half of it could be rows', async () => {
    const limits = async (measured: readonly number[], pool = {}): Promise<readonly number[]> => {
      const [shortest, ...longer] = measured.map((count) => ({
        nearest_count: count,
        striking_count: 8,
        ...pool,
      }));
      const card = {
        policy: shortest,
        tried: longer.map((counts) => ({ ...counts, ...RECALLS })),
        recalls: RECALLS,
        required_recall: 0.99,
      };
      const qualified = {
        ...engine,
        qualification: { id: 'qual_test', card: card as unknown as PolicyCard },
      };
      const wide = { ...settings(), guarantee: 'approximate', alignedMaxEValue: MAX_EVALUE } as const;
      const [results] = await searchEachRound([queryOf(near[0]!)], wide, ROUNDS, qualified);
      return results!.map(({ candidates }) => candidates.length);
    };
    // The family has 14 members: more than half of 10, and less than half of 60.
    expect(new Set(await limits([60]))).toEqual(new Set([60]));
    expect(new Set(await limits([10]))).toEqual(new Set([targets.length]));
    expect(new Set(await limits([10, 60]))).toEqual(new Set([60]));
    expect(new Set(await limits([10, 12]))).toEqual(new Set([targets.length]));
    expect(new Set(await limits([60, 100]))).toEqual(new Set([60]));
    // A policy in steps begins with its longest list.
    expect(new Set(await limits([60, 100], { pool_count: 200 }))).toEqual(new Set([100]));
  });

  it('gives a query that finds no other protein the result of a single search', async () => {
    const query = protein('alone', Array.from({ length: 90 }, rowOf));
    const bounds = { rounds: ROUNDS, maxEValue: MAX_EVALUE };
    const [deep] = await searchRounds([queryOf(query)], { ...settings(), ...bounds }, engine);
    const [single] = await searchMany([queryOf(query)], settings(), engine);
    expect(deep!.resultSha256).toBe(single!.resultSha256);
    expect(deep!.candidates).toHaveLength(targets.length);
  });

  it('controls a profile by its reversed tokens, not by those of the reversed query', async () => {
    encodedSequences.length = 0;
    const [results] = await searchEachRound([queryOf(near[0]!)], settings(), ROUNDS, engine);
    const reversed = [...near[0]!.sequence].reverse().join('');
    expect(results!.length).toBeGreaterThan(1);
    expect(encodedSequences.filter((sequence) => sequence === reversed)).toHaveLength(1);
  });
});
