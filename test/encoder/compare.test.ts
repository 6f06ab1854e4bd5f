// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Fault } from '#src/errors.js';
import { compareTokens, holdAgainstCpu } from '#src/encoder/compare.js';
import type { Encoder } from '#src/encoder/encoder.js';
import { fakeEncoder } from '../tools/fake-encoder.js';

/** An encoder whose device rounds some components otherwise: in proteins longer than 100, every 50th component. */
function roundingEncoder(step: number): Encoder {
  const exact = fakeEncoder();
  return {
    ...exact,
    device: 'cuda',
    async encode(sequences, options) {
      const tokens = await exact.encode(sequences, options);
      for (const { values, length } of tokens) {
        for (let at = 0; at < values.length && length > 100; at += 50) values[at] += step;
      }
      return tokens;
    },
  };
}

describe('tokens of another device', () => {
  it('are compared protein by protein and residue by residue', async () => {
    const proteins = Array.from({ length: 150 }, (_, at) => 'ACDEF'.repeat(at % 30).concat('M'));
    const comparison = await compareTokens(fakeEncoder(), roundingEncoder(2), proteins);
    // Proteins of 101 to 146 residues differ: ten of thirty lengths. Each has 32 components a residue.
    const long = proteins.filter(({ length }) => length > 100);
    const rows = long.map(
      ({ length }) =>
        new Set(Array.from({ length: Math.ceil((length * 32) / 50) }, (_, k) => Math.floor((k * 50) / 32)))
          .size,
    );
    expect(comparison).toEqual({
      proteinCount: 150,
      residueCount: proteins.join('').length,
      differingProteinCount: 50,
      differingResidueCount: rows.reduce((sum, count) => sum + count, 0),
      largestDifference: 2,
    });
  });

  it('that are those of the CPU let the device serve', async () => {
    const device = { ...fakeEncoder(), device: 'cuda' };
    expect(await holdAgainstCpu(device, fakeEncoder(), false)).toBe(device);
  });

  it('that differ are a fault with the difference and a remedy', async () => {
    const checked = holdAgainstCpu(roundingEncoder(1), fakeEncoder(), false);
    await expect(checked).rejects.toThrow(Fault);
    await expect(checked).rejects.toThrow(
      /other tokens on cuda than on the CPU: \d+ of 32 proteins .* components by at most 1.*on_encoder_difference/,
    );
  });

  it('that differ are served if the settings accept it, and the encoder reports it', async () => {
    const served = await holdAgainstCpu(roundingEncoder(1), fakeEncoder(), true);
    expect(served.differenceFromCpu).toMatchObject({ proteinCount: 32, largestDifference: 1 });
  });
});
