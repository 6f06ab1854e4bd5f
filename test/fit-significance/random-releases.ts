import { calibrateRelease } from '#src/fit-significance/fit-significance.js';
import { writeReferenceNull } from '#src/fit-significance/reference/make.js';
import { nativeBackend } from '#src/kernels/native.js';
import type { TokenStore } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import type { SupportedSignificance } from '#src/search/pairs/candidate-significance.js';
import type { Candidate } from '#src/search/search-types.js';
import type { CalibrationCard } from '#src/significance/card.js';
import { openReferenceNull, type ReferenceNull } from '#src/significance/reference-null.js';
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
