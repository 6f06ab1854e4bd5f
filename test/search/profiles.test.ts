// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pairStart, scorePairs } from '#src/fit-significance/pairs.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import type { ProfileEncoder } from '#src/homologs/profile-encoder.js';
import { PROFILE_WIDTH, type QueryTokens, type TokenStore } from '#src/kernels/kernels.js';
import { nativeBackend } from '#src/kernels/native.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { affineOf, openRelease } from '#src/release/open.js';
import { pathAffine } from '#src/release/path-affine.js';
import { profileAffine } from '#src/release/profile-affine.js';
import type { Release } from '#src/release/release.js';
import { affineParameters } from '#src/search/pairs/affine.js';
import { pathWithin } from '#src/search/pairs/path-within.js';
import { findPaths } from '#src/search/rescore.js';
import { controlScores } from '#src/search/control.js';
import { search } from '#src/search/search.js';
import { diagonalSelfScore } from '#src/search/pairs/affine.js';
import { randomProfile } from '../kernels/random-tokens.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder, tokensOf } from '../tools/fake-encoder.js';

/* Profiles that score beside the vectors: a search, its controls and a calibration score a pair equally. */

const SEQUENCES = ['MKVLAAGIVGLCWPHHRRNDE', 'GHWWKLMNPQRSTVYACDEFX', 'ACDEFGHIKL', 'WPHHRRNDEMKVLAAG'];
const DIMENSION = 32;
const BASE = { multiplier: 3_000, offset: 4, gap_open: 12, gap_extend: 2, blosum62: 2 };
const AFFINE = { ...BASE, profile: profileAffine(BASE, 173) };
const folder = mkdtempSync(join(tmpdir(), 'gloaming-profiles-'));
const backend = nativeBackend();
const random = seededRandom(17);
const profiles = SEQUENCES.map(({ length }) => randomProfile(random, length));
let release: Release;
let store: TokenStore;

beforeAll(async () => {
  const tokens = SEQUENCES.map((sequence) => [...tokensOf(sequence)]).flat();
  const directory = await makeRelease(folder, {
    targets: SEQUENCES.map((sequence, at) => ({ id: `t${at}`, sequence })),
    dimension: DIMENSION,
    token: (row, column) => tokens[row * DIMENSION + column]!,
  });
  const opened = await openRelease(directory);
  const values = Int8Array.from(profiles.flatMap((profile) => [...profile]));
  const { encoder } = opened.manifest;
  release = {
    ...opened,
    affine: affineOf(AFFINE),
    pathAffine: affineOf(pathAffine({ affine: AFFINE, encoder })),
    tokens: { ...opened.tokens, profiles: { values } },
  };
  store = await backend.open(release.tokens);
});
afterAll(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

function proteinAt(target: number): { readonly sequence: string; readonly tokens: QueryTokens } {
  const sequence = SEQUENCES[target]!;
  const tokens = { values: tokensOf(sequence), length: sequence.length, profile: profiles[target]! };
  return { sequence, tokens };
}

describe('paths of stretches', () => {
  it('are those of the proteins where the stretches are whole, and lie in them where they are not', async () => {
    const [query, target] = [proteinAt(0), proteinAt(3)];
    const engine = { release, backend, store };
    const [whole] = await findPaths({ ...query, normalizationId: 'test' }, [{ targetIndex: 3 }], engine, {});
    const [queryEnd, targetEnd] = [query.sequence.length, target.sequence.length];
    const all = { queryStart: 0, queryEnd, targetStart: 0, targetEnd };
    expect(await pathWithin(query, target, all, engine, {})).toEqual(whole);
    expect(whole!.score).toBeGreaterThan(0);
    const inside = await pathWithin(query, target, { ...all, queryStart: 10, targetEnd: 9 }, engine, {});
    expect(inside.queryStart).toBeGreaterThanOrEqual(10);
    expect(inside.targetEnd).toBeLessThanOrEqual(9);
    expect(inside.score).toBeGreaterThan(0);
  });
});

describe('profiles that score', () => {
  it('give every pair of a calibration the score that a search gives it', async () => {
    const reader = await openTokenReader(release);
    const sample = Uint32Array.of(0, 1, 3);
    const { affine, profile } = await scorePairs({
      release,
      backend,
      store,
      reader,
      sample,
      checkpoints: { folder: join(folder, 'work'), identity: 'profiles' },
      onPairs: () => undefined,
    });
    await reader.close();
    for (let first = 0; first < sample.length; first += 1) {
      const scores = await searchWith(sample[first]!, true);
      const without = await searchWith(sample[first]!, false);
      for (let second = first + 1; second < sample.length; second += 1) {
        const place = pairStart(first, sample.length) + second - first - 1;
        expect(affine[place]).toBe(scores.get(`t${sample[second]}`));
        expect(affine[place]).not.toBe(without.get(`t${sample[second]}`));
        const list = sample.subarray(second, second + 1);
        const [ofProfiles] = await backend.profileScores(store, proteinAt(sample[first]!).tokens, list);
        expect(profile[place]).toBe(ofProfiles);
      }
    }
  });

  it('count in the self-score, which is the score of the ungapped protein with itself', async () => {
    for (const target of SEQUENCES.keys()) {
      const protein = proteinAt(target);
      // Self-score: sum of max(0, s(i, i)). Gap costs are high enough that no gap is opened.
      const affine = {
        ...AFFINE,
        profile: { ...AFFINE.profile, offset: 0, gap_open: 4_095, gap_extend: 4_095 },
      };
      const costly = { ...release, affine: affineOf(affine) };
      const parameters = affineParameters(costly, protein, Uint32Array.of(target));
      const list = Uint32Array.of(target);
      const { scores } = await backend.affineScores(store, protein.tokens, list, parameters);
      const selfScore = diagonalSelfScore(protein.tokens, protein.sequence, DIMENSION, costly.affine);
      expect(selfScore).toBe(scores[0]);
    }
  });

  it('are reversed with the tokens in a control, so that a protein matches its own mirror image', async () => {
    const { sequence, tokens } = proteinAt(0);
    const mirrored = {
      values: rowsBackwards(tokens.values, DIMENSION),
      profile: rowsBackwards(tokens.profile!),
    };
    const mirror = { sequence, tokens: { ...mirrored, length: tokens.length } };
    const engine = { encoder: fakeEncoder(refuse), backend, store, release };
    const control = await controlScores(mirror, Uint32Array.of(0), engine, {});
    const parameters = affineParameters(release, { sequence, tokens }, Uint32Array.of(0));
    const { scores } = await backend.affineScores(store, tokens, Uint32Array.of(0), parameters);
    expect(control.affine[0]).toBe(scores[0]);
    expect(scores[0]).toBeGreaterThan(0);
    const [ofProfiles] = await backend.profileScores(store, tokens, Uint32Array.of(0));
    expect(control.profile[0]).toBe(ofProfiles);
    expect(ofProfiles).toBeGreaterThan(0);
  });
});

function refuse(): never {
  throw new Error('a control of a query with relatives is not encoded');
}

function rowsBackwards(rows: Int8Array, width = PROFILE_WIDTH): Int8Array {
  const count = rows.length / width;
  return Int8Array.from(rows, (_, at) => rows[(count - 1 - Math.floor(at / width)) * width + (at % width)]!);
}

async function searchWith(target: number, hasProfile: boolean): Promise<ReadonlyMap<string, number>> {
  const { sequence, tokens } = proteinAt(target);
  const profileEncoder: ProfileEncoder = {
    form: {
      encoderDimension: DIMENSION,
      dimension: DIMENSION,
      inverseStep: 173,
      profileShare: 0,
      profileScale: AFFINE.profile.scale,
    },
    encode: async () => [{ tokens, homologs: 1 }],
  };
  const { candidates } = await search(
    {
      query: { sequence, normalizationId: 'gloaming-protein/1' },
      targetSpace: unfilteredSpace(release),
      limit: SEQUENCES.length,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    {
      release,
      encoder: fakeEncoder(),
      backend,
      store,
      profileEncoder: hasProfile ? profileEncoder : undefined,
    },
  );
  return new Map(
    candidates.map(({ targetIndex, affine }) => [release.targets.id(targetIndex), affine.rawScore]),
  );
}
