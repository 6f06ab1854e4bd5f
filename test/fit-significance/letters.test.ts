// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pairStart, scorePairs } from '#src/fit-significance/pairs.js';
import { openTokenReader } from '#src/release/rows/token-reader.js';
import { nativeBackend } from '#src/kernels/native.js';
import type { QueryTokens, TokenStore } from '#src/kernels/kernels.js';
import { affineOf, openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { unfilteredSpace } from '#src/release/filter/target-space.js';
import { diagonalSelfScore } from '#src/search/pairs/affine.js';
import { search } from '#src/search/search.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder, tokensOf } from '../tools/fake-encoder.js';

/* Amino-acid letters that score beside the vectors. A search and a calibration give a pair the same score. */

const SEQUENCES = [
  'MKVLAAGIVGLCWPHHRRNDE',
  'GHWWKLMNPQRSTVYACDEFX',
  'ACDEFGHIKL',
  'WPHHRRNDEMKVLAAG',
  'KLMNPQRSTVWW',
];
const DIMENSION = 32;
const CARD = { multiplier: 3_000, offset: 4, gap_open: 12, gap_extend: 2, blosum62: 2 };
const folder = mkdtempSync(join(tmpdir(), 'gloaming-letters-'));
const backend = nativeBackend();
let release: Release;
let store: TokenStore;

beforeAll(async () => {
  const tokens = SEQUENCES.map((sequence) => [...tokensOf(sequence)]).flat();
  const targets = SEQUENCES.map((sequence, at) => ({ id: `t${at}`, sequence }));
  const directory = await makeRelease(folder, {
    targets,
    dimension: DIMENSION,
    token: (row, column) => tokens[row * DIMENSION + column],
  });
  release = { ...(await openRelease(directory)), affine: affineOf(CARD) };
  store = await backend.open(release.tokens);
});
afterAll(() => {
  store.close();
  rmSync(folder, { recursive: true });
});

describe('BLOSUM62 scores of letters', () => {
  it('are part of every pair of a calibration, in any row', async () => {
    const reader = await openTokenReader(release);
    const sample = Uint32Array.of(0, 1, 3, 4);
    const { affine } = await scorePairs({
      release,
      backend,
      store,
      reader,
      sample,
      checkpoints: { folder: join(folder, 'work'), identity: 'letters' },
      onPairs: () => undefined,
    });
    await reader.close();
    for (let first = 0; first < sample.length; first += 1) {
      for (let second = first + 1; second < sample.length; second += 1) {
        const place = pairStart(first, sample.length) + second - first - 1;
        const affineScores = await searchWith(SEQUENCES[sample[first]]);
        expect(affine[place]).toBe(affineScores.get(`t${sample[second]}`));
      }
    }
  });

  it('raise the score of a search by the BLOSUM62 scores of the aligned letters', async () => {
    const plain = { ...release, affine: affineOf({ ...CARD, blosum62: undefined }) };
    const [withLetters, without] = [await searchWith(SEQUENCES[2]), await searchWith(SEQUENCES[2], plain)];
    // A against A 4, C 9, D 6, E 5, F 6, G 6, H 8, I 4, K 5, L 4, each twice. The diagonal stays the best path.
    expect(withLetters.get('t2')! - without.get('t2')!).toBe(2 * 57);
  });

  it('are part of the self-score that normalises', () => {
    const query: QueryTokens = { values: new Int8Array(2 * DIMENSION), length: 2 };
    expect(diagonalSelfScore(query, 'WX', DIMENSION, release.affine)).toBe(2 * 11 - CARD.offset);
    expect(diagonalSelfScore(query, 'WX', DIMENSION, affineOf({ ...CARD, blosum62: undefined }))).toBe(0);
  });
});

async function searchWith(sequence: string, searched = release): Promise<ReadonlyMap<string, number>> {
  const { candidates } = await search(
    {
      query: { sequence, normalizationId: 'gloaming-protein/1' },
      targetSpace: unfilteredSpace(searched),
      limit: SEQUENCES.length,
      evidence: 'candidate_measurement',
      guarantee: 'exhaustive',
      significance: 'not_requested',
    },
    { release: searched, encoder: fakeEncoder(), backend, store },
  );
  return new Map(
    candidates.map(({ targetIndex, affine }) => [searched.targets.id(targetIndex), affine.rawScore]),
  );
}
