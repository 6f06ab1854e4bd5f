// @module-tag fast

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fallingShares } from '#bench/probability/falling-shares.js';
import {
  homologyProbability,
  probabilityText,
  readProbabilityCard,
  type ProbabilityCard,
} from '#src/significance/probability.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-probability-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'null'));

const card: ProbabilityCard = {
  format: 'gloaming-probability/1',
  encoder_sha256: 'e1',
  target_count: 1_000,
  query_count: 10,
  pair_count: 100,
  log_e_values: [-10, 0, 5],
  log_odds: [6, 0, -4],
};
const oddsOf = (probability: number): number => Math.log(probability / (1 - probability));

describe('the probability of homology', () => {
  it('has log odds that are linear between the knots, and constant below the first one', () => {
    expect(homologyProbability(card, 0, 1_000)).toBeCloseTo(0.5, 12);
    expect(oddsOf(homologyProbability(card, -5, 1_000))).toBeCloseTo(3, 10);
    expect(oddsOf(homologyProbability(card, 2.5, 1_000))).toBeCloseTo(-2, 10);
    expect(homologyProbability(card, -500, 1_000)).toBe(homologyProbability(card, -10, 1_000));
  });

  it('falls in proportion to the E-value above the last knot', () => {
    expect(oddsOf(homologyProbability(card, 8, 1_000))).toBeCloseTo(-7, 10);
    expect(homologyProbability(card, Infinity, 1_000)).toBe(0);
  });

  it('takes the E-value in a larger database, and that of the fitted size in a smaller one', () => {
    expect(homologyProbability(card, 0, 50_000)).toBe(homologyProbability(card, 0, 1_000));
    const small = homologyProbability(card, Math.log(0.1), 100);
    expect(small).toBeCloseTo(homologyProbability(card, 0, 1_000), 12);
  });

  it('never rises with the E-value', () => {
    const values = Array.from({ length: 400 }, (_, at) => homologyProbability(card, -20 + at / 10, 1_000));
    for (const [at, value] of values.entries()) if (at > 0) expect(value).toBeLessThanOrEqual(values[at - 1]);
  });
});

describe('the table of an encoder', () => {
  const path = join(folder, 'null', 'probability.json');

  it('is read as it was written, and is absent without a file', async () => {
    expect(await readProbabilityCard(folder, 'e1', false)).toBeUndefined();
    writeFileSync(path, probabilityText(card));
    expect(await readProbabilityCard(folder, 'e1', false)).toEqual(card);
    expect(await readProbabilityCard(folder, 'e1', true)).toBeUndefined();
  });

  it.each([
    ['not JSON', '{'],
    ['another format', { ...card, format: 'gloaming-probability/9' }],
    ['another encoder', { ...card, encoder_sha256: 'e2' }],
    ['one knot', { ...card, log_e_values: [1], log_odds: [1] }],
    ['knots without odds', { ...card, log_odds: [1] }],
    ['E-values that do not ascend', { ...card, log_e_values: [0, 0, 5] }],
    ['odds that rise', { ...card, log_odds: [0, 1, -4] }],
    ['no numbers', { ...card, log_odds: ['a', 'b', 'c'] }],
    ['no targets', { ...card, target_count: 0 }],
    ['null', null],
  ])('is refused with %s', async (_, content) => {
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    await expect(readProbabilityCard(folder, 'e1', false)).rejects.toThrow(/probability\.json/);
  });
});

describe('the fit', () => {
  const bin = (at: number, pairs: number, homologs: number) => ({ at, pairs, weight: pairs, homologs });

  it('merges bins whose shares do not fall, and those of too few pairs', () => {
    const bins = [bin(0, 100, 90), bin(1, 100, 95), bin(2, 10, 5), bin(3, 90, 10), bin(4, 5, 0)];
    const fitted = fallingShares(bins, 50);
    expect(fitted.map(({ pairs, homologs }) => [pairs, homologs])).toEqual([
      [200, 185],
      [105, 15],
    ]);
    expect(fitted[0].at).toBeCloseTo(0.5, 12);
    // The share counts weights, and the least number counts pairs.
    const light = fallingShares([bin(0, 60, 30), { ...bin(1, 60, 0.5), weight: 0.6 }], 50);
    expect(light).toHaveLength(1);
    expect(fallingShares([], 50)).toEqual([]);
  });
});
