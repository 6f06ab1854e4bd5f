import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEncoder } from '#src/encoder/load.js';
import type { Encoder } from '#src/encoder/encoder.js';
import { randomProteins } from '../tools/random-proteins.js';
import { ROOT } from '../tools/paths.js';

const committed = join(ROOT, 'indexes/encoders/baseline-1');
const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) console.log('Skipped: there is no python3 to run the recipe of baseline-1.');

describe('the baseline encoder', () => {
  let encoder: Encoder;

  beforeAll(async () => {
    encoder = await loadEncoder(committed, { threads: 1 });
  });
  afterAll(() => encoder.close());

  it.skipIf(!hasPython)('is what its recipe writes, byte for byte', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-baseline-'));
    copyFileSync(join(committed, 'card.json'), join(folder, 'card.json'));
    // -B leaves no compiled files beside the recipe.
    execFileSync('python3', ['-B', join(committed, 'recipe/make.py'), folder]);
    for (const file of ['model.onnx', 'card.json']) {
      expect(readFileSync(join(folder, file)).equals(readFileSync(join(committed, file))), file).toBe(true);
    }
    rmSync(folder, { recursive: true });
  });

  it('says that it is a baseline', () => {
    expect(encoder.card.is_baseline).toBe(true);
    expect(encoder.card.description).toMatch(/untrained placeholder/);
  });

  it('clips no component of random proteins', async () => {
    const tokens = await encoder.encode(randomProteins(100, { seed: 1, minResidues: 50, maxResidues: 300 }));
    expect(tokens.some(({ values }) => values.some((value) => Math.abs(value) === 127))).toBe(false);
  });

  it('sees a conservative exchange as closer than a radical one', async () => {
    const around = (residue: string) => `MKTAYIAKQR${residue}ISFVKSHFSR`;
    const [leucine, isoleucine, aspartate] = await encoder.encode(['L', 'I', 'D'].map(around));
    expect(dotAt(leucine.values, isoleucine.values, 10)).toBeGreaterThan(
      dotAt(leucine.values, aspartate.values, 10),
    );
  });

  it('scores unrelated residues below zero on average', async () => {
    const [a, b] = await encoder.encode(randomProteins(2, { seed: 2, minResidues: 300, maxResidues: 300 }));
    const { multiplier, offset } = encoder.card.affine;
    let sum = 0;
    for (let i = 0; i < 300; i++) sum += ((dotAt(a.values, b.values, i) * multiplier) >> 16) - offset;
    expect(sum / 300).toBeLessThan(-offset / 2);
  });
});

function dotAt(a: Int8Array, b: Int8Array, residue: number): number {
  let sum = 0;
  for (let d = residue * 64; d < residue * 64 + 64; d++) sum += a[d] * b[d];
  return sum;
}
