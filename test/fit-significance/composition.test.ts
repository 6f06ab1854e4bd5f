import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { COMPOSITION_CARD, MEMBRANE_CARD } from '#src/fit-significance/reference/composition.js';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import type { Calibration } from '#src/significance/calibration.js';
import { compositionExcess, compositionOf, pairComposition } from '#src/significance/composition.js';
import { membraneExcess, membraneShareOf } from '#src/significance/membrane.js';
import { makeRelease } from '../release/make-release.js';
import {
  calibratedBy,
  randomProteins,
  randomReference,
  searchAll,
  supportedOf,
  unrelatedTokens,
} from './random-releases.js';

/*
 * Real kernels over random tokens. A quarter of each even protein is leucine; the others have no letters. Every fourth
 * protein begins with a membrane helix of 40 residues.
 */

const COUNT = 120;
const QUERIES = 12;
const folder = mkdtempSync(join(tmpdir(), 'gloaming-composition-'));
const content = randomProteins(COUNT, 2);
const sequences = content.targets.map(({ sequence }, at) =>
  at % 2 === 0 ? withHelix(at % 4 === 0, richIn('L', sequence)) : sequence,
);
let release: Release;
let calibration: Calibration;

beforeAll(async () => {
  const { card, reference } = await randomReference(folder, join(folder, 'encoder'));
  expect(card.pair_null.composition).toBeUndefined();
  expect(reference.card.pair_null.composition).toEqual(COMPOSITION_CARD);
  expect(card.pair_null.membrane).toBeUndefined();
  expect(reference.card.pair_null.membrane).toEqual(MEMBRANE_CARD);
  const targets = content.targets.map(({ id }, at) => ({ id, sequence: sequences[at] }));
  release = await openRelease(await makeRelease(folder, { ...content, targets }));
  calibration = await calibratedBy(release, reference);
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

it('is named by the card of a release', () => {
  expect(calibration.card.conditioning_context_id).toMatch(/composition_membrane/);
  expect(calibration.card.pair_null.composition).toEqual(COMPOSITION_CARD);
  expect(calibration.card.pair_null.membrane).toEqual(MEMBRANE_CARD);
});

it('lowers the bit score of pairs of like composition by their excess, and that of no others', async () => {
  const { pairNull } = calibration;
  const [withModel, without] = [
    await search(calibration),
    await search({ ...calibration, pairNull: { ...pairNull, composition: undefined } }),
  ];
  let lowered = 0;
  withModel.forEach((candidates, query) => {
    const byTarget = new Map(without[query].map((candidate) => [candidate.targetIndex, candidate]));
    for (const candidate of candidates) {
      const { targetIndex } = candidate;
      const before = supportedOf(byTarget.get(targetIndex)!).bitScore;
      const after = supportedOf(candidate).bitScore;
      const pair = {
        ...pairComposition(compositionOf(sequences[query]), compositionOf(sequences[targetIndex])),
        queryLength: sequences[query].length,
        targetLength: sequences[targetIndex].length,
      };
      const excess = compositionExcess(pairNull.composition, pair);
      expect(excess > 0).toBe(query % 2 === 0 && targetIndex % 2 === 0);
      if (excess === 0) expect(after).toBe(before);
      else if (query === targetIndex) {
        // A protein with itself lies far out, where a unit of the coordinate is nearly one of ln P.
        const ratio = (before - after) / (excess / Math.LN2);
        expect(ratio).toBeGreaterThan(0.8);
        expect(ratio).toBeLessThan(1.25);
      } else expect(after).toBeLessThanOrEqual(before);
      if (after < before) lowered += 1;
    }
  });
  expect(lowered).toBeGreaterThan(2 * QUERIES);
});

it('lowers the bit score of two membrane proteins, and raises that of one with a soluble protein', async () => {
  const { pairNull } = calibration;
  const [withModel, without] = [
    await search(calibration),
    await search({ ...calibration, pairNull: { ...pairNull, membrane: undefined } }),
  ];
  const moved = { lower: 0, equal: 0, higher: 0 };
  withModel.forEach((candidates, query) => {
    const byTarget = new Map(without[query].map((candidate) => [candidate.targetIndex, candidate]));
    for (const candidate of candidates) {
      const { targetIndex } = candidate;
      const [before, after] = [byTarget.get(targetIndex)!, candidate].map(
        (each) => supportedOf(each).bitScore,
      );
      const shares = [query, targetIndex].map((at) => membraneShareOf(sequences[at]));
      const excess = membraneExcess(pairNull.membrane, shares[0], shares[1]);
      if (excess === 0) expect(after).toBe(before);
      else if (excess > 0) expect(after).toBeLessThanOrEqual(before);
      else expect(after).toBeGreaterThanOrEqual(before);
      if (after < before) moved.lower += 1;
      else if (after > before) moved.higher += 1;
      else moved.equal += 1;
    }
  });
  expect(Math.min(...Object.values(moved))).toBeGreaterThan(QUERIES);
});

function withHelix(hasHelix: boolean, sequence: string): string {
  return hasHelix ? 'L'.repeat(40) + sequence.slice(40) : sequence;
}

function richIn(letter: string, sequence: string): string {
  return Array.from(sequence, (_, at) => (at % 4 === 0 ? letter : 'GASTVEDKRN'[at % 10])).join('');
}

/** Searches the release exhaustively with its own first proteins. */
async function search(by: Calibration) {
  const reader = await openTokenReader(release);
  const tokens = await Promise.all(Array.from({ length: QUERIES }, (_, target) => reader.read(target)));
  await reader.close();
  const encode = (given: readonly string[]) =>
    Promise.resolve(
      given.map((sequence) => tokens[sequences.indexOf(sequence)] ?? unrelatedTokens(sequence.length)),
    );
  return searchAll(release, sequences.slice(0, QUERIES), by, encode);
}
