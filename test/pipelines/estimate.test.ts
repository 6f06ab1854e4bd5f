// @module-tag fast

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { expectedStages, guessedExtent } from '#src/pipelines/estimate.js';
import { readRates, recordRate } from '#src/pipelines/rates.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-rates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const extent = { bytes: 4e6, proteins: 8_000, residues: 3e6 };
const ALL = { calibrates: true, hasReferenceNull: false, qualifies: true, policy: 'sampled' } as const;

describe('the expected stages of a build', () => {
  it('take as long as this machine has measured', () => {
    const rates = { encode: 10_000, calibrate: 1e6 };
    const stages = expectedStages(extent, rates, 2, ALL);
    expect(stages.map(({ stage }) => stage)).toEqual([
      'digest',
      'read',
      'encode',
      'write',
      'calibrate',
      'qualify',
    ]);
    const encode = stages.find(({ stage }) => stage === 'encode');
    expect(encode).toEqual({ stage: 'encode', ms: 300_000, isMeasured: true });
    expect(stages.find(({ stage }) => stage === 'qualify')?.isMeasured).toBe(false);
    // A calibration of more proteins than its sample has about as many pairs.
    const more = expectedStages({ ...extent, proteins: 16_000 }, rates, 2, ALL);
    const pairsMs = (of: typeof stages): number => of.find(({ stage }) => stage === 'calibrate')!.ms;
    expect(pairsMs(stages)).toBeGreaterThan(8_000);
    expect(pairsMs(more)).toBeLessThan(1.5 * pairsMs(stages));
  });

  it('of an encoder with a null of its own have a far shorter calibration', () => {
    const msOf = (hasReferenceNull: boolean): number =>
      expectedStages(extent, {}, 2, { ...ALL, hasReferenceNull }).find(({ stage }) => stage === 'calibrate')!
        .ms;
    expect(msOf(true)).toBeLessThan(msOf(false) / 10);
  });

  it('that were never measured are scaled by the rate of the encoder', () => {
    const msOf = (encode: number): number =>
      expectedStages(extent, { encode }, 1, ALL).find(({ stage }) => stage === 'calibrate')!.ms;
    expect(msOf(5_000)).toBeCloseTo(2 * msOf(10_000), 3);
  });

  it('omit the stages that the build omits', () => {
    const stagesOf = (parts: object, proteins = extent.proteins): string[] =>
      expectedStages({ ...extent, proteins }, {}, 1, { ...ALL, ...parts }).map(({ stage }) => stage);
    expect(stagesOf({ calibrates: false, qualifies: false })).not.toContain('calibrate');
    expect(stagesOf({ qualifies: false })).not.toContain('qualify');
    // The approximate policy saves no time in a small database.
    expect(stagesOf({}, 1_999)).not.toContain('qualify');
    expect(stagesOf({}, 2_000)).toContain('qualify');
    expect(stagesOf({ policy: 'coded' }).slice(-2)).toEqual(['codebook', 'qualify']);
  });

  it('of a database that is fourteen times as large have a measurement of the policy of twice the time', () => {
    const msOf = (proteins: number): number =>
      expectedStages({ ...extent, proteins, residues: 300 * proteins }, {}, 1, ALL).find(
        ({ stage }) => stage === 'qualify',
      )!.ms;
    expect(msOf(400_000) / msOf(28_000)).toBeGreaterThan(1.5);
    expect(msOf(400_000) / msOf(28_000)).toBeLessThan(2);
  });

  it('begin with a guess from the bytes of the input', () => {
    const { proteins, residues } = guessedExtent(1e6);
    expect(residues).toBeGreaterThan(3e5);
    expect(residues).toBeLessThan(1e6);
    expect(residues / proteins).toBeGreaterThan(200);
  });
});

describe('the rates of this machine', () => {
  it('are kept for each encoder, and a new measurement counts half', () => {
    expect(readRates(folder, 'gloaming-1')).toEqual({});
    recordRate(folder, 'gloaming-1', { name: 'encode', units: 100_000, ms: 10_000 });
    expect(readRates(folder, 'gloaming-1')).toEqual({ encode: 10_000 });
    recordRate(folder, 'gloaming-1', { name: 'encode', units: 200_000, ms: 10_000 });
    recordRate(folder, 'gloaming-2', { name: 'write', units: 5_000, ms: 1_000 });
    expect(readRates(folder, 'gloaming-1')).toEqual({ encode: 15_000 });
    expect(readRates(folder, 'gloaming-2')).toEqual({ write: 5_000 });
  });

  it('are not taken from work of less than a second', () => {
    recordRate(folder, 'gloaming-3', { name: 'encode', units: 5_000, ms: 900 });
    expect(readRates(folder, 'gloaming-3')).toEqual({});
  });

  it('are absent if their file is damaged or cannot be written', () => {
    const other = mkdtempSync(join(folder, 'other-'));
    writeFileSync(join(other, 'rates.json'), '{"gloaming-1": ');
    expect(readRates(other, 'gloaming-1')).toEqual({});
    recordRate(other, 'gloaming-1', { name: 'encode', units: 100_000, ms: 10_000 });
    expect(readRates(other, 'gloaming-1')).toEqual({ encode: 10_000 });
    const file = join(folder, 'file');
    writeFileSync(file, '');
    chmodSync(file, 0o400);
    expect(() =>
      recordRate(file, 'gloaming-1', { name: 'encode', units: 100_000, ms: 10_000 }),
    ).not.toThrow();
  });
});
