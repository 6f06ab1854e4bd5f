import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { calibrateByReference, isOfReference } from '#src/fit-significance/reference/calibrate.js';
import { COMPOSITION_CARD } from '#src/fit-significance/reference/composition.js';
import { writeReferenceNull } from '#src/fit-significance/reference/make.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import { PROFILED_FORMAT } from '#src/significance/card.js';
import type { Calibration } from '#src/significance/calibration.js';
import { openReferenceNull } from '#src/significance/reference-null.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { PROFILE_WIDTH, type QueryTokens, type TokenStore } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { affineOf, openRelease } from '#src/release/open.js';
import { PROFILE_SCALE, profileAffine } from '#src/release/profile-affine.js';
import type { Release } from '#src/release/release.js';
import { computeRows } from '#src/pipelines/neighbours/rows.js';
import { searchMany } from '#src/search/search.js';
import type { SearchResult } from '#src/search/search-types.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

/*
 * Profiles whose columns prefer the same few amino acids score well with each other without homology. Every pair is
 * unrelated, so that the true null is known.
 */

const SEED = 20261122;
const DIMENSION = 32;
const COUNT = 300;
/**
 * Every fifth protein has a third of columns that prefer the same amino acids. The overlap of two of them is .1 nats
 * above the mean, as that of a thousandth of natural pairs.
 */
const PARTIAL = 5;
const PREFERRED = 4;
/** Values of the rare amino acids of a column and of its frequent one, whose frequencies sum to about 1. */
const RARE = 2;
const FREQUENT = 34;
/** Profiles have 1, 2, … effective sequences in turn. */
const WORTH = 7;
const BASE = { multiplier: 3_000, offset: 4, gap_open: 12, gap_extend: 2, blosum62: 2 };
const AFFINE = { ...BASE, profile: profileAffine(BASE, 173) };
const folder = mkdtempSync(join(tmpdir(), 'gloaming-calibrate-profiles-'));
const backend = nativeBackend();
let release: Release;
let store: TokenStore;
let calibration: Calibration;

beforeAll(async () => {
  const random = seededRandom(SEED);
  const targets = Array.from({ length: COUNT }, (_, at) => ({
    id: `p${at}`,
    sequence: 'A'.repeat(60 + random.below(101)),
  }));
  const token = (): number => random.below(79) - 39;
  const opened = await openRelease(await makeRelease(folder, { targets, dimension: DIMENSION, token }));
  const rows = targets.flatMap(({ sequence }, at) =>
    Array.from({ length: sequence.length }, () => profileRow(at % PARTIAL === 0)),
  );
  function profileRow(isPartial: boolean): Int8Array {
    const row = new Int8Array(PROFILE_WIDTH).fill(RARE, 0, 20);
    row[random.below(isPartial && random.below(3) === 0 ? PREFERRED : 20)] = FREQUENT;
    return row;
  }
  const values = Int8Array.from(rows.flatMap((row) => [...row]));
  release = {
    ...opened,
    manifest: { ...opened.manifest, affine: AFFINE },
    affine: affineOf(AFFINE),
    targets: { ...opened.targets, targetHomologs: worthOf },
    tokens: { ...opened.tokens, profiles: { values } },
  };
  store = await backend.open(release.tokens);
  await calibrateRelease({ release, backend, store, encoder: fakeEncoder(), threads: 2 });
  calibration = (await openCalibration(release.directory, { id: release.id, targetCount: COUNT }))!;
}, 120_000);
afterAll(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

function worthOf(target: number) {
  return { relatives: target % WORTH, effectiveSequences: 1 + (target % WORTH) };
}

describe(`the calibration of a release with profiles (seed ${SEED})`, () => {
  it('has the terms of two profiles and a format of its own', () => {
    const { card, pairNull, moments } = calibration;
    expect(card.format).toBe(PROFILED_FORMAT);
    expect(card.conditioning_context_id).toBe('lengths_moments_profiles_biases_and_cysteines/1');
    expect(pairNull.shape.profiles?.logMean.spread).toBeGreaterThan(0);
    expect(pairNull.weights).toHaveLength(14);
    expect(moments.profiles?.means).toHaveLength(COUNT * 20);
    expect(moments.profiles?.seconds).toHaveLength(COUNT * 210);
    expect(moments.profiles?.logEffective[WORTH - 1]).toBeCloseTo(Math.log(WORTH));
    expect(pairNull.shape.profiles?.logEffective.maximum).toBeCloseTo(Math.log(WORTH));
    expect(pairNull.scores.profileScore).toBeCloseTo(0.0075 * pairNull.scores.scorePerCosine, 10);
  });

  it('makes pairs more significant whose profiles score beyond chance, and no others', async () => {
    const { pairNull } = calibration;
    const scores = { ...pairNull.scores, profileScore: 0 };
    const without = { ...calibration, pairNull: { ...pairNull, scores } };
    let beyondChance = 0;
    for (const query of Array.from({ length: 20 }, (_, at) => at * PARTIAL)) {
      const ofProfiles = await profileScoresOf(query);
      const plain = await logEValuesOf(query, without);
      for (const [target, log] of await logEValuesOf(query, calibration)) {
        const change = log - plain.get(target)!;
        // Fewer bits than in the shortest pair by chance.
        if (ofProfiles[target] < 16 * (18 + Math.log(60 * 60))) expect(change).toBe(0);
        else expect(change).toBeLessThanOrEqual(0);
        beyondChance += change < 0 ? 1 : 0;
      }
    }
    expect(beyondChance).toBeGreaterThan(10);
  });

  it('predicts the number of false hits among profiles that prefer the same amino acids', async () => {
    const partial = Array.from({ length: COUNT / PARTIAL }, (_, at) => at * PARTIAL);
    const others = partial.length - 1;
    const logEValues = await logEValuesOfPairs(partial);
    for (const expected of [20, 5]) {
      // As many as among other profiles.
      const claimed = (expected * others) / COUNT;
      const observed = logEValues.filter((log) => log <= Math.log(expected)).length / partial.length;
      expect(observed / claimed).toBeGreaterThan(0.4);
      expect(observed / claimed).toBeLessThan(2);
    }
  });

  it('gives neighbours by stored profiles, without any encoding', async () => {
    const encode = (): never => {
      throw new Error('nothing is to be encoded');
    };
    const encoder = { ...fakeEncoder(), encode };
    const reader = await openTokenReader(release);
    const engine = { release, encoder, backend, store, calibration };
    const rows = await computeRows(0, 10, { engine, reader, rules: { limit: 6, maxExpected: 10 } });
    await reader.close();
    const results = await searchBy(Array.from({ length: 10 }, (_, target) => target));
    const expected = results.flatMap(({ candidates }, query) =>
      candidates
        .flatMap(({ targetIndex, affine, significance }) =>
          significance.kind === 'supported' && significance.eValue <= 10 && targetIndex !== query
            ? [[query, targetIndex, significance.logEValue, affine.rawScore]]
            : [],
        )
        .sort((a, b) => a[2] - b[2] || a[1] - b[1])
        .slice(0, 6),
    );
    expect(expected.length).toBeGreaterThan(30);
    const { queries, edges } = rows;
    expect(
      Array.from(queries, (query, at) => [
        query,
        edges.targets[at],
        edges.logEValues[at],
        edges.affineScores[at],
      ]),
    ).toEqual(expected);
  });

  it('gives a reference null, which only databases with profiles take', async () => {
    const encoderFolder = join(folder, 'encoder');
    await writeReferenceNull(release, calibration.card, encoderFolder);
    expect(await openReferenceNull(encoderFolder, false)).toBeUndefined();
    const reference = (await openReferenceNull(encoderFolder, true))!;
    expect(reference.card.form).toEqual({ inverse_step: 173, profile_scale: PROFILE_SCALE });
    expect(isOfReference(release, reference)).toBe(true);
    const { profile: _, ...plainAffine } = AFFINE;
    const plain = { ...release, manifest: { ...release.manifest, affine: plainAffine } };
    expect(isOfReference(plain, reference)).toBe(false);

    const outcome = await calibrateByReference({ release, backend, store, threads: 2 }, reference);
    expect(outcome.kind).toBe('calibrated');
    const identity = { id: release.id, targetCount: COUNT };
    const byReference = (await openCalibration(release.directory, identity))!;
    const { composition, membrane, ...fitted } = byReference.pairNull;
    expect({ ...fitted, composition: undefined, membrane: undefined }).toEqual(calibration.pairNull);
    expect(membrane).toBeDefined();
    expect(composition).toEqual({
      weight: COMPOSITION_CARD!.weight,
      usualGain: COMPOSITION_CARD!.usual_gain,
    });
    // The release is the sample of the null.
    expect(Math.abs(byReference.card.reference!.log_level)).toBeLessThan(0.2);
  });
});

/** Searches the release with the stored tokens and profiles of these proteins. */
async function searchBy(chosen: readonly number[], by = calibration): Promise<readonly SearchResult[]> {
  const reader = await openTokenReader(release);
  const tokens: QueryTokens[] = [];
  for (const target of chosen) tokens.push(await reader.read(target));
  await reader.close();
  let remaining: readonly QueryTokens[] | undefined = tokens;
  const encoder = {
    ...fakeEncoder(),
    async encode() {
      const first = remaining!;
      remaining = undefined;
      return first;
    },
  };
  return searchMany(
    chosen.map((target) => ({ sequence: release.targets.sequence(target), normalizationId: 'test' })),
    {
      targetSpace: unfilteredSpace(release),
      limit: 1_000,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'if_available',
    },
    { release, encoder, backend, store, calibration: by },
  );
}

/** Returns the profile scores of one protein with every protein. */
async function profileScoresOf(query: number): Promise<Int32Array> {
  const reader = await openTokenReader(release);
  const tokens = await reader.read(query);
  await reader.close();
  return backend.profileScores(
    store,
    tokens,
    Uint32Array.from({ length: COUNT }, (_, target) => target),
  );
}

/** Returns ln of the E-value of one protein with each other one. */
async function logEValuesOf(query: number, by: Calibration): Promise<ReadonlyMap<number, number>> {
  const [{ candidates }] = await searchBy([query], by);
  return new Map(
    candidates.flatMap(({ targetIndex, significance }) =>
      significance.kind === 'supported' && targetIndex !== query
        ? [[targetIndex, significance.logEValue]]
        : [],
    ),
  );
}

/** Returns ln of the E-values of these proteins with each other, without each protein itself. */
async function logEValuesOfPairs(chosen: readonly number[]): Promise<readonly number[]> {
  const results = await searchBy(chosen);
  const isChosen = new Set(chosen);
  return results.flatMap(({ candidates }, at) =>
    candidates.flatMap(({ targetIndex, significance }) =>
      significance.kind === 'supported' && targetIndex !== chosen[at] && isChosen.has(targetIndex)
        ? [significance.logEValue]
        : [],
    ),
  );
}
