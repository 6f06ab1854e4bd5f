import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addEncoder } from '#src/build-release/encoders/add-encoder.js';
import { sha256Hex } from '#src/canonical.js';
import { findEncoder } from '#src/encoder/find.js';
import { loadEncoder } from '#src/encoder/load.js';
import { ESM_TOKENIZER, writeEsmModel, writeEsmModelWithData } from '../../tools/esm-model.js';
import { randomProteins } from '../../tools/random-proteins.js';

const model = writeEsmModel({ layers: 6, width: 80, heads: 5, positions: 1_024, seed: 2 });
/** Smallest card of an ESM-2 model; other members are computed. */
const card = {
  id: 'esm-shaped',
  name: 'ESM-2-shaped',
  description: 'Random weights in the shape of ESM-2.',
  license: 'MIT',
  inputs: { ids: 'input_ids', mask: 'attention_mask' },
  output: 'last_hidden_state',
  tokenizer: ESM_TOKENIZER,
  window: { residues: 1_022, overlap: 256 },
};

describe('adding an encoder', () => {
  let source: string;
  let indexesFolder: string;
  const modelPath = () => join(source, 'esm.onnx');
  const cardPath = () => join(source, 'card.json');
  const encoders = () => readdirSync(join(indexesFolder, 'encoders'));
  const writeCard = (change: object = {}) =>
    writeFileSync(cardPath(), JSON.stringify({ ...card, ...change }));
  const add = (projectionDimension?: number) =>
    addEncoder({ modelPath: modelPath(), cardPath: cardPath(), indexesFolder, projectionDimension });

  beforeAll(() => {
    source = mkdtempSync(join(tmpdir(), 'gloaming-add-from-'));
    indexesFolder = mkdtempSync(join(tmpdir(), 'gloaming-add-to-'));
    writeFileSync(modelPath(), model);
  });
  afterAll(() => {
    rmSync(source, { recursive: true });
    rmSync(indexesFolder, { recursive: true });
  });
  beforeEach(() => {
    rmSync(join(indexesFolder, 'encoders'), { recursive: true, force: true });
    writeCard();
  });

  it('completes the card of an ESM-2-shaped model and creates a working encoder', async () => {
    const added = await add(64);
    expect(added.card).toMatchObject({
      model: { file: 'esm.onnx', sha256: sha256Hex(model) },
      projection: { file: 'projection.bin', input_dimension: 80, output_dimension: 64 },
      dimension: 64,
      inverse_step: 173,
      is_baseline: false,
    });
    expect(added.residuesPerSecond).toBeGreaterThan(0);
    expect(encoders()).toEqual(['esm-shaped']);
    const directory = await findEncoder('esm-shaped', { indexesFolder, packageFolder: source });
    const encoder = await loadEncoder(directory, { threads: 2 });
    const proteins = randomProteins(3, { seed: 1, minResidues: 30, maxResidues: 1_500 });
    const tokens = await encoder.encode(proteins);
    expect(tokens.map(({ length }) => length)).toEqual(proteins.map(({ length }) => length));
    await encoder.close();
  });

  it('creates the same projection and card every time, so that the digest is stable', async () => {
    const first = await add(64);
    rmSync(first.directory, { recursive: true });
    expect((await add(64)).card).toEqual(first.card);
  });

  it('sets the zero of the affine score above the cosine of unrelated residues', async () => {
    const { card: added, directory } = await add(64);
    const encoder = await loadEncoder(directory, { threads: 1 });
    const [a, b] = await encoder.encode(randomProteins(2, { seed: 5, minResidues: 300, maxResidues: 300 }));
    let sum = 0;
    for (let row = 0; row < 300; row++) {
      let dot = 0;
      for (let d = row * 64; d < row * 64 + 64; d++) dot += a.values[d] * b.values[d];
      sum += ((dot * added.affine.multiplier) >> 16) - added.affine.offset;
    }
    expect(sum / 300).toBeLessThan(-10);
    const equal = ((173 ** 2 * added.affine.multiplier) >> 16) - added.affine.offset;
    expect(Math.abs(equal - 52)).toBeLessThanOrEqual(1);
    await encoder.close();
  });

  it('uses the affine parameters and the trained projection of the card', async () => {
    const matrix = Buffer.alloc(80 * 96 * 4);
    for (let i = 0; i < 80; i++) matrix.writeFloatLE(1, (i * 96 + i) * 4);
    writeFileSync(join(source, 'trained.bin'), matrix);
    const affine = { multiplier: 100, offset: 20, gap_open: 30, gap_extend: 3 };
    writeCard({ affine, projection: { file: 'trained.bin', input_dimension: 80, output_dimension: 96 } });
    const added = await add();
    expect(added.card).toMatchObject({ affine, dimension: 96, projection: { sha256: sha256Hex(matrix) } });
  });

  it('copies and pins the separate weights file of a large model', async () => {
    const path = join(source, 'large.onnx');
    const large = writeEsmModelWithData(
      { layers: 1, width: 80, heads: 5, positions: 1_024, seed: 3 },
      'large.onnx.data',
    );
    writeFileSync(path, large.model);
    writeFileSync(`${path}.data`, large.data);
    const { card: added, directory } = await addEncoder({
      modelPath: path,
      cardPath: cardPath(),
      indexesFolder,
      projectionDimension: 64,
    });
    expect(added.model.data).toEqual({ file: 'large.onnx.data', sha256: sha256Hex(large.data) });
    large.data[0] ^= 1;
    writeFileSync(join(directory, 'large.onnx.data'), large.data);
    await expect(loadEncoder(directory)).rejects.toThrow(/card\.model\.data\.sha256/);
  });

  const wrong: readonly [string, object, number | undefined, RegExp][] = [
    [
      'a number of features that kernels do not support',
      {},
      undefined,
      /card\.dimension must be one of.*--projection-dimension/,
    ],
    ['a projection wider than the model', {}, 96, /the model has only 80 features/],
    ['a card that expects another dimension', { dimension: 128 }, 64, /is 128, but the projection gives 64/],
    [
      'a card that pins another model',
      { model: { sha256: 'f'.repeat(64) } },
      64,
      /card\.model\.sha256 is ffff/,
    ],
    ['a card without a licence', { license: undefined }, 64, /card\.license/],
    ['an id that leads elsewhere', { id: '../../evil' }, 64, /card\.id/],
    [
      'a projection outside the folder',
      { projection: { file: '../p.bin' } },
      undefined,
      /card\.projection\.file/,
    ],
    [
      'a window longer than the model supports',
      { window: { residues: 1_023, overlap: 256 } },
      64,
      /does not match its card/,
    ],
    [
      'an input that the model lacks',
      { inputs: { ids: 'tokens', mask: null } },
      64,
      /names the inputs tokens/,
    ],
    ['a card that is a list', [], 64, /must be an object|card\./],
  ];
  it.each(wrong)(
    'is refused with %s, and leaves nothing behind',
    async (_, change, projectionDimension, message) => {
      if (Array.isArray(change)) writeFileSync(cardPath(), '[]');
      else writeCard(change);
      await expect(add(projectionDimension)).rejects.toMatchObject({
        name: 'Refusal',
        message: expect.stringMatching(message) as string,
      });
      expect(encoders()).toEqual([]);
    },
  );

  it('is refused if the file is not an ONNX model', async () => {
    const noModel = join(source, 'text.onnx');
    writeFileSync(noModel, 'no model');
    await expect(
      addEncoder({ modelPath: noModel, cardPath: cardPath(), indexesFolder }),
    ).rejects.toMatchObject({
      code: 'unusable_encoder',
    });
    expect(encoders()).toEqual([]);
  });

  it('is refused if the id is in use, and leaves the other encoder unchanged', async () => {
    const { directory } = await add(64);
    const before = readFileSync(join(directory, 'card.json'));
    await expect(add(64)).rejects.toMatchObject({ code: 'encoder_exists' });
    expect(readFileSync(join(directory, 'card.json')).equals(before)).toBe(true);
  });

  const damages: readonly [string, (directory: string) => void][] = [
    ['its model is missing', (directory) => rmSync(join(directory, 'esm.onnx'))],
    [
      'a byte of its model has changed',
      (directory) => {
        const bytes = Buffer.from(model);
        bytes[bytes.length - 1] ^= 1;
        writeFileSync(join(directory, 'esm.onnx'), bytes);
      },
    ],
    ['its projection is cut', (directory) => writeFileSync(join(directory, 'projection.bin'), 'cut')],
  ];
  it.each(damages)('repairs an encoder of the same card if %s, and keeps its null', async (_, damage) => {
    const { directory, card: first } = await add(64);
    mkdirSync(join(directory, 'null'));
    writeFileSync(join(directory, 'null', 'reference.json'), '{}');
    damage(directory);
    await expect(loadEncoder(directory)).rejects.toThrow(/card\.(model|projection)/);
    expect((await add(64)).card).toEqual(first);
    expect(encoders()).toEqual(['esm-shaped']);
    expect(readdirSync(directory).sort()).toEqual(['card.json', 'esm.onnx', 'null', 'projection.bin']);
    expect(readFileSync(join(directory, 'null', 'reference.json'), 'utf8')).toBe('{}');
    await (await loadEncoder(directory)).close();
  });

  it('is refused if the damaged encoder has another card, which stays as it is', async () => {
    const { directory } = await add(64);
    rmSync(join(directory, 'esm.onnx'));
    writeCard({ name: 'Another' });
    await expect(add(64)).rejects.toMatchObject({
      code: 'encoder_exists',
      message: expect.stringContaining('is damaged, but this model and card are not those') as string,
    });
    expect(encoders()).toEqual(['esm-shaped']);
    expect(readdirSync(directory).sort()).toEqual(['card.json', 'projection.bin']);
    writeFileSync(join(directory, 'card.json'), '{}');
    await expect(add(64)).rejects.toMatchObject({ code: 'encoder_exists' });
    expect(readFileSync(join(directory, 'card.json'), 'utf8')).toBe('{}');
  });
});
