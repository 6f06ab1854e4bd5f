import { expect } from 'vitest';
import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { calibrateByReference } from '#src/fit-significance/reference/calibrate.js';
import { writeReferenceNull } from '#src/fit-significance/reference/make.js';
import { nativeBackend } from '#src/kernels/native.js';
import type { QueryTokens, TokenStore } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import type { SupportedSignificance } from '#src/search/pairs/candidate-significance.js';
import { searchMany } from '#src/search/search.js';
import type { Candidate, SearchEngine } from '#src/search/search-types.js';
import type { CalibrationCard } from '#src/significance/card.js';
import type { Calibration } from '#src/significance/calibration.js';
import { openReferenceNull, type ReferenceNull } from '#src/significance/reference-null.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

export const DIMENSION = 32;
const backend = nativeBackend();

export function supportedOf({ significance }: Candidate): SupportedSignificance {
  if (significance.kind !== 'supported') throw new Error(`it is ${significance.kind}`);
  return significance;
}

export function randomProteins(count: number, seed: number) {
  // Lengths and tokens have streams of their own, so that a smaller release is the beginning of a larger one.
  const [lengths, components] = [seededRandom(seed), seededRandom(seed + 1_000)];
  const targets = Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    sequence: 'X'.repeat(60 + lengths.below(101)),
  }));
  return { targets, dimension: DIMENSION, token: (): number => components.below(79) - 39 };
}

export function partsOf(release: Release, store: TokenStore) {
  return { release, backend, store, threads: 1 };
}

export async function withStore<Result>(release: Release, work: (store: TokenStore) => Promise<Result>) {
  const store = await backend.open(release.tokens);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** Calibrates a release of 400 random proteins below the folder, and makes the encoder's reference null of it. */
export async function randomReference(
  folder: string,
  encoderFolder: string,
): Promise<{ readonly card: CalibrationCard; readonly reference: ReferenceNull }> {
  const natural = await openRelease(await makeRelease(folder, randomProteins(400, 1)));
  const card = await withStore(natural, (store) =>
    calibrateRelease({
      ...partsOf(natural, store),
      encoder: fakeEncoder(),
      referenceSet: { count: 24, minimumResidues: 60, maximumResidues: 90 },
    }),
  );
  await writeReferenceNull(natural, card, encoderFolder);
  return { card, reference: (await openReferenceNull(encoderFolder, false))! };
}

/** Calibrates a release by a reference null, and opens the calibration. */
export async function calibratedBy(release: Release, reference: ReferenceNull): Promise<Calibration> {
  const outcome = await withStore(release, (store) =>
    calibrateByReference(partsOf(release, store), reference),
  );
  expect(outcome.kind).toBe('calibrated');
  const { id, directory, targets } = release;
  return (await openCalibration(directory, { id, targetCount: targets.count }))!;
}

/** Random tokens that depend on nothing but the length, such as those of a reversed query. */
export function unrelatedTokens(length: number): QueryTokens {
  const random = seededRandom(length);
  return { values: Int8Array.from({ length: length * DIMENSION }, () => random.below(79) - 39), length };
}

/** Searches a release exhaustively, and returns the candidates of each query. */
export async function searchAll(
  release: Release,
  sequences: readonly string[],
  calibration: Calibration | undefined,
  encode: SearchEngine['encoder']['encode'],
): Promise<readonly (readonly Candidate[])[]> {
  const results = await withStore(release, (store) =>
    searchMany(
      sequences.map((sequence) => ({ sequence, normalizationId: 'test' })),
      {
        targetSpace: unfilteredSpace(release),
        limit: release.targets.count,
        evidence: 'candidate_measurement',
        guarantee: 'exhaustive',
        significance: 'required',
      },
      { ...partsOf(release, store), calibration, encoder: { ...fakeEncoder(), encode } },
    ),
  );
  return results.map(({ candidates }) => candidates);
}
