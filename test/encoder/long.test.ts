import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomOrthogonal } from '#src/encoder/rotation.js';
import { sha256Hex } from '#src/canonical.js';
import { openEncoderModel, type EncoderModel } from '#src/encoder/model.js';
import { fadeVectors } from '#src/encoder/vectors.js';
import { quantise } from '#src/kernels/quantise.js';
import { planWindows } from '#src/encoder/windows.js';
import { loadEncoder } from '#src/encoder/load.js';
import type { Encoder, EncoderCard } from '#src/encoder/encoder.js';
import { ESM_TOKENIZER, writeEsmModel } from '../tools/esm-model.js';
import { randomProteins } from '../tools/random-proteins.js';

const window = { residues: 1022, overlap: 256 };
const dimension = 64;
const seed = Date.now() % 100_000;
const [protein] = randomProteins(1, { seed, minResidues: 2_000, maxResidues: 2_300 });

describe(`a protein longer than the input of an ESM-2-shaped model (random protein of seed ${seed})`, () => {
  let folder: string;
  let model: EncoderModel;
  let encoder: Encoder;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-long-'));
    const card = writeEncoder(folder);
    model = await openEncoderModel(folder, card, 'cpu');
    encoder = await loadEncoder(folder, { threads: 2 });
  });
  afterAll(async () => {
    await Promise.all([model.close(), encoder.close()]);
    rmSync(folder, { recursive: true });
  });

  it('is more than the model can take in one run', async () => {
    await expect(model.vectors(protein.slice(0, 1_022))).resolves.toHaveLength(1_022 * dimension);
    await expect(model.vectors(protein.slice(0, 1_023))).rejects.toThrow();
  });

  it('is covered without a seam: a window’s boundary moves no component by more than 1e-3', async () => {
    const [left, right] = planWindows(protein.length, window);
    const rows = async (of: typeof left, from: number, to: number) =>
      (await model.vectors(protein.slice(of.start, of.end))).subarray(
        (from - of.start) * dimension,
        (to - of.start) * dimension,
      );
    const fade = [right.keptStart, left.keptEnd] as const;
    const [before, after] = [await rows(left, ...fade), await rows(right, ...fade)];
    const faded = fadeVectors(before, after, dimension);
    const [first, last] = [0, faded.length - dimension];
    expect(largestDifference(faded, before, first)).toBeLessThan(1e-3);
    expect(largestDifference(faded, after, last)).toBeLessThan(1e-3);
    // The model looks at all it is given: without the fade the change-over would show.
    expect(largestDifference(before, after, faded.length / 2)).toBeGreaterThan(1e-2);
  });

  it('gets the tokens of its windows, faded into each other and quantised', async () => {
    const windows = planWindows(protein.length, window);
    const expected = new Float32Array(protein.length * dimension);
    for (const { start, end, keptStart, keptEnd, fadeIn } of windows) {
      const vectors = await model.vectors(protein.slice(start, end));
      const central = vectors.slice((keptStart - start) * dimension, (keptEnd - start) * dimension);
      const shared = expected.slice(keptStart * dimension, (keptStart + fadeIn) * dimension);
      if (fadeIn > 0) central.set(fadeVectors(shared, central.subarray(0, fadeIn * dimension), dimension));
      expected.set(central, keptStart * dimension);
    }
    const [{ values }] = await encoder.encode([protein]);
    expect(Buffer.from(values).equals(Buffer.from(quantise(expected, dimension, 173)))).toBe(true);
  });
});

/** Writes an encoder of 6 layers and 1,024 positions, and returns its card. */
function writeEncoder(folder: string): EncoderCard {
  const width = 80;
  const model = writeEsmModel({ layers: 6, width, heads: 5, positions: 1_024, seed: 1 });
  const projection = new Uint8Array(randomOrthogonal(width, dimension, 1).buffer);
  const card: EncoderCard = {
    id: 'esm-shaped',
    name: 'ESM-2-shaped',
    description: 'Random weights.',
    license: 'Apache-2.0',
    is_baseline: false,
    model: { file: 'model.onnx', sha256: sha256Hex(model) },
    inputs: { ids: 'input_ids', mask: 'attention_mask' },
    output: 'last_hidden_state',
    tokenizer: ESM_TOKENIZER,
    window,
    projection: {
      file: 'projection.bin',
      sha256: sha256Hex(projection),
      input_dimension: width,
      output_dimension: dimension,
    },
    dimension,
    inverse_step: 173,
    affine: { multiplier: 176, offset: 28, gap_open: 40, gap_extend: 4 },
  };
  writeFileSync(join(folder, 'model.onnx'), model);
  writeFileSync(join(folder, 'projection.bin'), projection);
  writeFileSync(join(folder, 'card.json'), JSON.stringify(card));
  return card;
}

/** Largest difference of a component in the row that starts here. */
function largestDifference(a: Float32Array, b: Float32Array, start: number): number {
  let largest = 0;
  for (let i = start; i < start + dimension; i++) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}
