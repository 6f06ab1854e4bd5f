// @module-tag fast

import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256Hex } from '#src/canonical.js';
import { Refusal } from '#src/errors.js';
import { parseEncoderCard, readEncoderCard, verifyEncoderFiles } from '#src/encoder/card.js';
import type { EncoderCard } from '#src/encoder/encoder.js';

const model = Buffer.from('a model');
const valid: EncoderCard = {
  id: 'example-1',
  name: 'Example',
  description: 'A card for this test.',
  license: 'Apache-2.0',
  is_baseline: false,
  model: { file: 'model.onnx', sha256: sha256Hex(model) },
  inputs: { ids: 'input_ids', mask: 'attention_mask' },
  output: 'residue_vectors',
  tokenizer: {
    vocabulary: Object.fromEntries(Array.from('ACDEFGHIKLMNPQRSTVWY', (letter, id) => [letter, id])),
    unknown: 20,
    padding: 21,
    prefix: [22],
    suffix: [],
  },
  window: { residues: 1022, overlap: 256 },
  projection: null,
  dimension: 64,
  inverse_step: 173,
  affine: { multiplier: 176, offset: 28, gap_open: 40, gap_extend: 4 },
};

describe('an encoder card', () => {
  it('that is complete is accepted without a change', () => {
    expect(parseEncoderCard(valid, 'card.json')).toEqual(valid);
  });

  const hostile: readonly [string, string, object][] = [
    ['a missing member', 'card.license', { license: undefined }],
    ['a member that no card has', 'card.colour', { colour: 'blue' }],
    ['an id that leads elsewhere', 'card.id', { id: '../other' }],
    ['a model outside the folder', 'card.model.file', { model: { ...valid.model, file: '../model.onnx' } }],
    ['an absolute model path', 'card.model.file', { model: { ...valid.model, file: '/etc/passwd' } }],
    ['a backslash in a file name', 'card.model.file', { model: { ...valid.model, file: 'a\\b' } }],
    ['the card as its own model', 'card.model.file', { model: { ...valid.model, file: 'card.json' } }],
    ['a digest that is none', 'card.model.sha256', { model: { ...valid.model, sha256: 'ABC' } }],
    ['a number as a name', 'card.inputs.mask', { inputs: { ids: 'ids', mask: 7 } }],
    ['a negative token', 'card.tokenizer.prefix[0]', { tokenizer: { ...valid.tokenizer, prefix: [-1] } }],
    [
      'a vocabulary of words',
      'card.tokenizer.vocabulary',
      { tokenizer: { ...valid.tokenizer, vocabulary: { ALA: 1 } } },
    ],
    ['windows that hardly advance', 'card.window.overlap', { window: { residues: 100, overlap: 34 } }],
    ['a dimension that kernels lack', 'card.dimension', { dimension: 65 }],
    ['a step that overflows int16', 'card.inverse_step', { inverse_step: 178 }],
    ['a step of 174 at dimension 256', 'card.inverse_step', { dimension: 256, inverse_step: 174 }],
    ['letters that outgrow a byte', 'card.affine.blosum62', { affine: { ...valid.affine, blosum62: 12 } }],
    ['gaps that grow dearer', 'card.affine.gap_extend', { affine: { ...valid.affine, gap_extend: 41 } }],
    [
      'a projection to another dimension',
      'card.projection.output_dimension',
      {
        projection: { file: 'p.bin', sha256: valid.model.sha256, input_dimension: 320, output_dimension: 32 },
      },
    ],
  ];
  it.each(hostile)('with %s is refused at %s', (_, place, change) => {
    const card = JSON.parse(JSON.stringify({ ...valid, ...change }));
    const refusal = refusalOf(() => parseEncoderCard(card, 'card.json'));
    expect(refusal.code).toBe('invalid_encoder_card');
    expect(refusal.details.errors?.map(({ location }) => location)).toContain(place);
    expect(refusal.message).toContain(place);
  });

  it.each([null, [], 'card', 7])('that is %j is refused', (value) => {
    expect(refusalOf(() => parseEncoderCard(value, 'card.json')).details.errors?.[0].location).toBe('card');
  });
});

describe('the folder of an encoder', () => {
  let folder: string;
  const write = (name: string, content: string | Buffer) => writeFileSync(join(folder, name), content);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'gloaming-card-'));
    write('card.json', JSON.stringify(valid));
    write('model.onnx', model);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is taken where the digests agree', async () => {
    const card = await readEncoderCard(folder);
    await expect(verifyEncoderFiles(folder, card)).resolves.toBeUndefined();
  });

  it('is refused where the model has changed by one byte', async () => {
    write('model.onnx', 'a Model');
    await expect(verifyEncoderFiles(folder, valid)).rejects.toMatchObject({
      code: 'invalid_encoder_card',
      details: { errors: [{ location: 'card.model.sha256' }] },
    });
  });

  it('is refused where the model is a link out of it', async () => {
    rmSync(join(folder, 'model.onnx'));
    const elsewhere = join(folder, '..', `${Date.now()}-elsewhere.onnx`);
    writeFileSync(elsewhere, model);
    symlinkSync(elsewhere, join(folder, 'model.onnx'));
    await expect(verifyEncoderFiles(folder, valid)).rejects.toMatchObject({
      details: { errors: [{ location: 'card.model.file' }] },
    });
    rmSync(elsewhere);
  });

  it('is refused where the projection has another size than its dimensions', async () => {
    const bytes = Buffer.alloc(320 * 64 * 4 - 4);
    write('projection.bin', bytes);
    const projection = {
      file: 'projection.bin',
      sha256: sha256Hex(bytes),
      input_dimension: 320,
      output_dimension: 64,
    };
    await expect(verifyEncoderFiles(folder, { ...valid, projection })).rejects.toThrow(
      /must hold 81920 bytes/,
    );
  });

  it.each([
    ['no card', () => rmSync(join(folder, 'card.json')), /must be a plain file/],
    ['a card that is no JSON', () => write('card.json', '{'), /must be JSON/],
    ['a card over a mebibyte', () => write('card.json', ' '.repeat(1_048_577)), /at most 1048576 bytes/],
  ])('is refused with %s', async (_, spoil, message) => {
    spoil();
    await expect(readEncoderCard(folder)).rejects.toThrow(message);
  });
});

function refusalOf(act: () => unknown): Refusal {
  try {
    act();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}
