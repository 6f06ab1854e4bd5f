// @module-tag fast

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from '../tools/paths.js';

/*
 * The exported models against what PyTorch computed. gloaming-1/recipe/export.py and gloaming-4/recipe/quantise.py
 * write agreement.json beside them.
 */

interface Agreement {
  readonly padding: number;
  readonly proteins: readonly {
    readonly sequence: string;
    readonly first: readonly number[];
    readonly middle: readonly number[];
    readonly last: readonly number[];
  }[];
}

const DIMENSION = 64;
/** Convolutions of 1,280 and fewer terms in float32, in another order than PyTorch's. */
const FLOAT_TOLERANCE = 1e-4;
/**
 * In a model of bytes, one activation that rounds to the other side changes many of the next layer. Between float32 and
 * float64 in PyTorch alone, components differ by up to .016.
 */
const BYTES_TOLERANCE = 0.03;
const PADDING_TOLERANCE = 1e-5;

let session: InferenceSession;
let agreement: Agreement;
let vocabulary: Readonly<Record<string, number>>;

describe.each([
  ['gloaming-1', FLOAT_TOLERANCE],
  ['gloaming-3', FLOAT_TOLERANCE],
  ['gloaming-4', BYTES_TOLERANCE],
  ['gloaming-5', BYTES_TOLERANCE],
])('%s', (id, tolerance) => {
  beforeAll(async () => {
    const directory = join(ROOT, 'indexes/encoders', id);
    session = await InferenceSession.create(join(directory, 'model.onnx'), { intraOpNumThreads: 1 });
    agreement = JSON.parse(await readFile(join(directory, 'agreement.json'), 'utf8')) as Agreement;
    const card = JSON.parse(await readFile(join(directory, 'card.json'), 'utf8')) as {
      readonly tokenizer: { readonly vocabulary: Readonly<Record<string, number>> };
    };
    vocabulary = card.tokenizer.vocabulary;
  });

  afterAll(async () => session.release());

  it('gives the same vectors in ONNX Runtime as in PyTorch', async () => {
    for (const { sequence, first, middle, last } of agreement.proteins) {
      const [rows] = await encode([sequence]);
      expect(distance(rows![0]!, first)).toBeLessThan(tolerance);
      expect(distance(rows![Math.floor(sequence.length / 2)]!, middle)).toBeLessThan(tolerance);
      expect(distance(rows![sequence.length - 1]!, last)).toBeLessThan(tolerance);
    }
  });

  it('gives unit vectors', async () => {
    const [rows] = await encode([agreement.proteins[3]!.sequence]);
    for (const row of rows!) expect(Math.hypot(...row)).toBeCloseTo(1, 5);
  });

  it('gives a padded protein the vectors it has alone', async () => {
    const sequences = agreement.proteins.map(({ sequence }) => sequence);
    const together = await encode(sequences);
    for (const [at, sequence] of sequences.entries()) {
      const [alone] = await encode([sequence]);
      const worst = Math.max(...alone!.map((row, place) => distance(row, together[at]![place]!)));
      expect(worst).toBeLessThan(PADDING_TOLERANCE);
    }
  });

  it('changes vectors near a substituted residue and none beyond its reach', async () => {
    const { sequence } = agreement.proteins[3]!;
    const changed = (sequence[0] === 'W' ? 'P' : 'W') + sequence.slice(1);
    const [[before], [after]] = [await encode([sequence]), await encode([changed])];
    expect(distance(before![0]!, after![0]!)).toBeGreaterThan(0.01);
    expect(distance(before!.at(-1)!, after!.at(-1)!)).toBeLessThan(PADDING_TOLERANCE);
  });
});

/** One array of rows a protein; the batch is padded at its right. */
async function encode(sequences: readonly string[]): Promise<Float32Array[][]> {
  const length = Math.max(...sequences.map((sequence) => sequence.length));
  const ids = new BigInt64Array(sequences.length * length).fill(BigInt(agreement.padding));
  const mask = new BigInt64Array(ids.length);
  for (const [row, sequence] of sequences.entries()) {
    for (const [place, residue] of [...sequence].entries()) {
      ids[row * length + place] = BigInt(vocabulary[residue]!);
      mask[row * length + place] = 1n;
    }
  }
  const shape = [sequences.length, length];
  const outputs = await session.run({
    input_ids: new Tensor('int64', ids, shape),
    attention_mask: new Tensor('int64', mask, shape),
  });
  const { data, dims } = outputs['residue_vectors']!;
  expect(dims).toEqual([...shape, DIMENSION]);
  return sequences.map((sequence, row) =>
    Array.from(sequence, (_, place) => {
      const start = (row * length + place) * DIMENSION;
      return (data as Float32Array).slice(start, start + DIMENSION);
    }),
  );
}

/** Largest difference of two rows' components. */
function distance(a: Float32Array, b: Float32Array | readonly number[]): number {
  return a.reduce((worst, value, at) => Math.max(worst, Math.abs(value - b[at]!)), 0);
}
