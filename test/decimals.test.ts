// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createTypeGuess, parseCell } from '#src/build-release/sources/tables/metadata-types.js';
import { isExactDecimal, isIntegralDecimal } from '#src/decimals.js';
import { readValue } from '#src/release/filter/values.js';

const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

const EXACT = [
  '0',
  '-0',
  '0.0',
  '1',
  '+1',
  '1.50',
  '1e3',
  '.5',
  '5.',
  '0.1',
  '1e-300',
  '9007199254740992',
  '1e22',
];
const OTHER = [
  '9007199254740993',
  '9007199254740992.5',
  '0.10000000000000001',
  '1e-400',
  '1e400',
  '1e9999999999',
];

describe(`a decimal (seed ${seed})`, () => {
  it('is exact if binary64 distinguishes it from every other one', () => {
    for (const text of EXACT) expect(isExactDecimal(text), text).toBe(true);
    for (const text of [...OTHER, '', '.', 'x', '0x10', ' 1', '1 ', 'Infinity', 'NaN']) {
      expect(isExactDecimal(text), text).toBe(false);
    }
  });

  it('is exact in every notation of a double, and no other decimal has the same double', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(isExactDecimal(String(value))).toBe(true);
        expect(isExactDecimal(value.toExponential())).toBe(true);
      }),
      { seed },
    );
    const digits = fc.stringMatching(/^[1-9][0-9]{0,24}(\.[0-9]{1,24})?$/);
    fc.assert(
      fc.property(digits, (text) => {
        const isSame = decimalOf(text) === decimalOf(String(Number(text)));
        expect(isExactDecimal(text)).toBe(isSame);
      }),
      { seed, numRuns: 500 },
    );
  });

  it('of at most 15 significant digits is exact', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 ** 15 - 1 }),
        fc.integer({ min: -280, max: 280 }),
        (digits, power) => {
          expect(isExactDecimal(`${digits}e${power}`)).toBe(true);
        },
      ),
      { seed, numRuns: 500 },
    );
  });

  it('is an integer as written', () => {
    for (const text of ['0', '0.0', '5', '5.0', '5e3', '1.5e1', '100e-2'])
      expect(isIntegralDecimal(text)).toBe(true);
    for (const text of ['0.5', '5e-1', '15e-1', '1.05e1', 'x', ''])
      expect(isIntegralDecimal(text)).toBe(false);
  });
});

describe('a number that binary64 would round', () => {
  it('is refused in a filter, with the nearest one', () => {
    for (const text of OTHER) expect(readValue(text, 'number'), text).toHaveProperty('expected');
    expect(readValue('9007199254740992.5', 'number')).toMatchObject({
      expected: expect.stringContaining('9007199254740992'),
    });
    expect(readValue('9007199254740990.6', 'integer')).toHaveProperty('expected');
    expect(readValue('1.50', 'number')).toEqual({ text: '1.5' });
  });

  it('makes no column of numbers: two ids stay two texts, and a typed column refuses it', () => {
    const typeOf = (...cells: readonly string[]) => {
      const guess = createTypeGuess();
      for (const cell of cells) guess.see(cell);
      return guess.type();
    };
    expect(typeOf('9007199254740992', '9007199254740993')).toBe('string');
    expect(typeOf('9007199254740992', '1')).toBe('number');
    expect(typeOf('0.5', '0.333333333333333333333')).toBe('number');
    expect(parseCell('number', '9007199254740993')).toBeUndefined();
    expect(parseCell('number', '0.333333333333333333333')).toBe(1 / 3);
  });
});

/** The decimal without notation, by its digits. */
function decimalOf(text: string): string {
  const [, head = '', tail = '', power = '0'] = /^([0-9]*)\.?([0-9]*)(?:e([+-][0-9]+))?$/.exec(text) ?? [];
  const point = head.length + Number(power);
  const digits = head + tail;
  const whole = digits.padEnd(point, '0').slice(0, Math.max(0, point)).replace(/^0+/, '');
  const fraction = point < 0 ? '0'.repeat(-point) + digits : digits.slice(point);
  return `${whole}.${fraction.replace(/0+$/, '')}`;
}
