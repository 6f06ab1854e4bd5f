import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  calibrateByReference,
  isOfReference,
  type ReferenceOutcome,
} from '#src/fit-significance/reference/calibrate.js';
import { transferCalibration } from '#src/fit-significance/transfer.js';
import type { QueryTokens } from '#src/kernels/kernels.js';
import { seededRandom } from '#src/random.js';
import { verifyEvidence } from '#src/recall/evidence.js';
import { manifestText, releaseId } from '#src/release/manifest.js';
import { openRelease } from '#src/release/open.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import type { Release } from '#src/release/release.js';
import type { Candidate, SearchEngine } from '#src/search/search-types.js';
import {
  REFERENCE_FORMAT,
  calibrationDirectory,
  calibrationId,
  type CalibrationCard,
} from '#src/significance/card.js';
import { targetClassBias } from '#src/significance/moment-weights.js';
import {
  openReferenceNull,
  referenceNullText,
  type ReferenceNull,
} from '#src/significance/reference-null.js';
import { openCalibration } from '#src/significance/sidecar.js';
import { makeRelease } from '../release/make-release.js';
import {
  DIMENSION,
  partsOf,
  randomProteins,
  randomReference,
  searchAll,
  supportedOf,
  unrelatedTokens,
  withStore,
} from './random-releases.js';

/* Real kernels over proteins with random tokens. A release of 400 of them gives the reference null. */

const LARGE = 240;
const SMALL = 120;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-reference-'));
const encoderFolder = join(folder, 'encoder');
let reference: ReferenceNull;
let large: Release;
let small: Release;
let tokens: readonly QueryTokens[];

beforeAll(async () => {
  ({ reference } = await randomReference(folder, encoderFolder));
  large = await openRelease(await makeRelease(folder, randomProteins(LARGE, 2)));
  small = await openRelease(await makeRelease(folder, randomProteins(SMALL, 2)));
  await calibrate(large);
  await calibrate(small);
  const reader = await openTokenReader(small);
  tokens = await Promise.all(Array.from({ length: 40 }, (_, target) => reader.read(target)));
  await reader.close();
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

describe('a calibration by the reference null of the encoder', () => {
  it('gives a pair the same bit score in a database and in a part of it', async () => {
    const [ofLarge, ofSmall] = [await searchFirst(large), await searchFirst(small)];
    let compared = 0;
    ofSmall.forEach((candidates, query) => {
      const byTarget = new Map(ofLarge[query].map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        const [here, there] = [supportedOf(candidate), supportedOf(byTarget.get(candidate.targetIndex)!)];
        expect(here.bitScore).toBe(there.bitScore);
        compared += 1;
      }
    });
    expect(compared).toBe(40 * SMALL);
  });

  it('gives E = number of targets × level × 2^(−bit score), so that a half of a database halves E', async () => {
    for (const release of [large, small]) {
      const { card } = (await calibrationOf(release))!;
      const [candidates] = await searchFirst(release);
      for (const candidate of candidates) {
        const { logEValue, bitScore } = supportedOf(candidate);
        const logTail = Math.min(0, card.reference!.log_level - bitScore * Math.LN2);
        expect(logEValue).toBeCloseTo(Math.log(release.targets.count) + logTail, 9);
      }
    }
  });

  it('claims as many hits of unrelated proteins as there are', async () => {
    const logs = (await searchFirst(large)).flatMap((candidates) =>
      candidates
        .filter(({ targetIndex }) => targetIndex >= 40)
        .map((candidate) => supportedOf(candidate).logEValue),
    );
    for (const expected of [10, 1]) {
      const observed = logs.filter((log) => log <= Math.log(expected)).length / 40;
      expect(observed / (expected * ((LARGE - 40) / LARGE))).toBeGreaterThan(0.5);
      expect(observed / (expected * ((LARGE - 40) / LARGE))).toBeLessThan(2);
    }
  });

  it('lowers the bit scores of pairs that are both rich in cysteines, and of no others', async () => {
    const content = randomProteins(SMALL, 2);
    const targets = content.targets.map(({ id, sequence }, at) => ({
      id,
      sequence: at % 2 === 0 ? withCysteines(sequence) : sequence,
    }));
    const rich = await openRelease(await makeRelease(folder, { ...content, targets }));
    const card = calibratedOf(await calibrate(rich));
    expect(card.pair_null.cysteine_weight).toBe(0.75);
    expect(card.conditioning_context_id).toMatch(/cysteines/);
    const [ofRich, ofPlain] = [await searchFirst(rich, 40, withCysteines), await searchFirst(small)];
    let lowered = 0;
    ofRich.forEach((candidates, query) => {
      const byTarget = new Map(ofPlain[query].map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        const [here, there] = [supportedOf(candidate), supportedOf(byTarget.get(candidate.targetIndex)!)];
        if (candidate.targetIndex % 2 === 1) expect(here.bitScore).toBe(there.bitScore);
        // Coordinates in the body of the distribution can have equal probabilities.
        else expect(here.bitScore).toBeLessThanOrEqual(there.bitScore);
        if (here.bitScore < there.bitScore) lowered += 1;
      }
    });
    expect(lowered).toBeGreaterThan(0.4 * 40 * SMALL);
  });

  it('lowers bit scores of pairs with a class bias above 0, and raises those below 0', async () => {
    const { moments, pair_null: pairNull } = reference.card;
    const weights = (count: number): number[] => Array.from({ length: count }, (_, at) => (at === 0 ? 4 : 0));
    const classBias = {
      mean_weights: weights(moments.dimension),
      sketch_weights: weights(0),
      offset: 0,
      smallest: -0.4,
      largest: 0.4,
    };
    const card = { ...reference.card, pair_null: { ...pairNull, class_bias: classBias } };
    writeFileSync(join(encoderFolder, 'null', 'card.json'), referenceNullText(card));
    const biased = (await openReferenceNull(encoderFolder, false))!;
    const part = await openRelease(await makeRelease(join(folder, 'biased'), randomProteins(SMALL, 2)));
    const calibrated = calibratedOf(await calibrate(part, {}, biased));
    expect(calibrated.conditioning_context_id).toMatch(/classes_/);
    const calibration = (await calibrationOf(part))!;
    const biasOf = (target: number): number =>
      targetClassBias(calibration.classBias, calibration.moments, target);
    const [found, plain] = [await searchFirst(part), await searchFirst(small)];
    const lowered = { above: 0, below: 0, against: 0, pairs: 0 };
    found.forEach((candidates, query) => {
      const byTarget = new Map(plain[query].map((candidate) => [candidate.targetIndex, candidate]));
      for (const candidate of candidates) {
        const here = supportedOf(candidate).bitScore;
        const there = supportedOf(byTarget.get(candidate.targetIndex)!).bitScore;
        const bias = biasOf(query) + biasOf(candidate.targetIndex);
        lowered.pairs += 1;
        if (bias > 0 && here < there) lowered.above += 1;
        if (bias < 0 && here > there) lowered.below += 1;
        if ((here - there) * bias > 0) lowered.against += 1;
      }
    });
    expect(lowered.above).toBeGreaterThan(0.1 * lowered.pairs);
    expect(lowered.below).toBeGreaterThan(0.1 * lowered.pairs);
    // A pair that its bias takes below the coordinate of chance has no control, which would have lowered it more.
    expect(lowered.against).toBeLessThan(0.01 * lowered.pairs);
  });

  it('names the reference, the level with its error, and the verdict of held-out pairs', async () => {
    const { card } = (await calibrationOf(large))!;
    expect(card.format).toBe(REFERENCE_FORMAT);
    expect(card.reference).toMatchObject({ id: reference.id, holdout: { status: 'confirmed' } });
    expect(Math.abs(card.reference!.log_level)).toBeLessThan(0.3);
    expect(card.reference!.log_level_error).toBeGreaterThan(0);
    expect(card.reference!.holdout.pair_count).toBeLessThan(card.reference!.level.pair_count / 3);
  });

  it('of 20 proteins has no test and says by which factor it may be wrong', async () => {
    const few = await openRelease(await makeRelease(folder, randomProteins(20, 3)));
    const card = calibratedOf(await calibrate(few));
    expect(card.reference!.holdout.status).toBe('too_few');
    expect(card.reference!.log_level_error).toBeGreaterThan(0.1);
    const found = await searchFirst(few, 20);
    expect(found.flat().every(({ significance }) => significance.kind === 'supported')).toBe(true);
  });

  it('of one protein has the level of the reference', async () => {
    const one = await openRelease(await makeRelease(folder, randomProteins(1, 4)));
    const { reference: use } = calibratedOf(await calibrate(one));
    expect(use).toMatchObject({ log_level: 0, level: { pair_count: 0 } });
  });

  it('is not made if pairs of the database contradict the reference', async () => {
    // Every residue has one of four tokens: many cosines are 1, and scores of chance are far higher.
    const random = seededRandom(6);
    const kinds = Array.from({ length: 4 }, () =>
      Int8Array.from({ length: DIMENSION }, () => random.below(79) - 39),
    );
    let kind = 0;
    const token = (_: number, column: number): number => {
      if (column === 0) kind = random.below(kinds.length);
      return kinds[kind][column];
    };
    const strange = await openRelease(await makeRelease(folder, { ...randomProteins(200, 5), token }));
    expect(await calibrate(strange)).toEqual({ kind: 'contradicted' });
    expect(existsSync(calibrationDirectory(strange.directory))).toBe(false);
  });

  it('has the same bytes after it was stopped and resumed in each phase', async () => {
    const expected = calibrationId((await calibrationOf(large))!.card);
    for (const phase of ['moments', 'panel', 'repeats', 'pairs']) {
      const controller = new AbortController();
      const onProgress = (progress: { readonly phase: string; readonly done: number }): void => {
        if (progress.phase === phase && progress.done > 0) controller.abort(new Error('stopped'));
      };
      const stopped = calibrate(large, { signal: controller.signal, onProgress });
      const outcome = await stopped.catch((cause: unknown) => cause);
      if (outcome instanceof Error) expect(outcome.message).toBe('stopped');
      expect(calibrationId(calibratedOf(await calibrate(large)))).toBe(expected);
    }
  });

  it('is reported as damaged if its copy of the reference set has changed or is missing', async () => {
    const path = join(calibrationDirectory(large.directory), 'reference.arrow');
    const bytes = readFileSync(path);
    const changed = Uint8Array.from(bytes);
    changed[changed.length >>> 1] ^= 1;
    writeFileSync(path, changed);
    expect(await verifyEvidence(large.directory)).toEqual(['reference.arrow was changed']);
    rmSync(path);
    expect(await verifyEvidence(large.directory)).toEqual(['reference.arrow is missing']);
    await expect(calibrationOf(large)).rejects.toThrow('reference.arrow');
    writeFileSync(path, bytes);
    expect(await verifyEvidence(large.directory)).toEqual([]);
  });

  it('transfers to a release of the same tokens with its reference set', async () => {
    const manifest = { ...large.manifest, title: 'renamed' };
    const directory = join(folder, releaseId(manifest));
    cpSync(large.directory, directory, { recursive: true });
    writeFileSync(join(directory, 'manifest.json'), manifestText(manifest));
    const renamed = { id: releaseId(manifest), directory, manifest };
    await transferCalibration(renamed, [large]);
    const opened = await openCalibration(directory, { id: renamed.id, targetCount: LARGE });
    expect(opened).toMatchObject({ referenceSet: { kind: 'proteins' }, card: { release_id: renamed.id } });
  });
});

describe('the reference null of an encoder', () => {
  it('is absent where the encoder has none, and differs for releases with profiles', async () => {
    expect(await openReferenceNull(folder, false)).toBeUndefined();
    expect(await openReferenceNull(encoderFolder, true)).toBeUndefined();
  });

  it('holds for releases of the same encoder and affine parameters only', () => {
    expect(isOfReference(large, reference)).toBe(true);
    const { encoder, affine } = large.manifest;
    const others = [
      { ...large.manifest, encoder: { ...encoder, sha256: 'f'.repeat(64) } },
      { ...large.manifest, affine: { ...affine, gap_open: affine.gap_open + 1 } },
    ];
    for (const manifest of others) expect(isOfReference({ ...large, manifest }, reference)).toBe(false);
  });

  it('with a damaged file is a fault that names the file', async () => {
    const damage = async (name: string, change: (bytes: Buffer) => Buffer): Promise<unknown> => {
      const copy = join(folder, 'damaged');
      rmSync(copy, { recursive: true, force: true });
      cpSync(encoderFolder, copy, { recursive: true });
      const path = join(copy, 'null', name);
      writeFileSync(path, change(readFileSync(path)));
      return openReferenceNull(copy, false).catch((cause: unknown) => (cause as Error).message);
    };
    const flipped = (bytes: Buffer): Buffer => {
      bytes[bytes.length >>> 1] ^= 1;
      return bytes;
    };
    expect(await damage('reference.arrow', flipped)).toContain('reference.arrow was changed');
    expect(await damage('basis.arrow', flipped)).toContain('basis.arrow was changed');
    expect(await damage('card.json', () => Buffer.from('no'))).toContain('is not a reference null');
    expect(await damage('card.json', () => Buffer.from(JSON.stringify({ format: 'other/1' })))).toContain(
      'has format "other/1"',
    );
  });
});

function calibratedOf(outcome: ReferenceOutcome): CalibrationCard {
  if (outcome.kind !== 'calibrated') throw new Error('its pairs contradict the reference');
  return outcome.card;
}

/** Returns the sequence with a cysteine as every tenth letter. It has no membrane helix. */
function withCysteines(sequence: string): string {
  return sequence.replace(/.{9}./g, 'ADAGAKASAC');
}

function calibrate(
  release: Release,
  options: Partial<Parameters<typeof calibrateByReference>[0]> = {},
  ofEncoder = reference,
): Promise<ReferenceOutcome> {
  return withStore(release, (store) =>
    calibrateByReference({ ...partsOf(release, store), ...options }, ofEncoder),
  );
}

function calibrationOf(release: Release): ReturnType<typeof openCalibration> {
  return openCalibration(release.directory, { id: release.id, targetCount: release.targets.count });
}

/** Searches a release exhaustively with the first proteins of the small release, by their tokens. */
async function searchFirst(
  release: Release,
  count = 40,
  lettersOf = (letters: string): string => letters,
): Promise<readonly (readonly Candidate[])[]> {
  const queries = tokens.slice(0, count);
  let isFirst = true;
  const encode: SearchEngine['encoder']['encode'] = async (sequences) => {
    if (isFirst) {
      isFirst = false;
      return queries;
    }
    // Reversed queries have random tokens, which depend on nothing but the length.
    return sequences.map(({ length }) => unrelatedTokens(length));
  };
  const calibration = await calibrationOf(release);
  return searchAll(
    release,
    queries.map(({ length }) => lettersOf('X'.repeat(length))),
    calibration,
    encode,
  );
}
