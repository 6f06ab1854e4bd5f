import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '#src/http/body/json.js';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const SEED = Date.now() % 2 ** 31;

function refusal(text: string | Uint8Array): string {
  try {
    parseStrictJson(typeof text === 'string' ? bytes(text) : text);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

describe(`strict JSON (seed ${SEED})`, () => {
  it('reads whatever JSON.stringify writes', () => {
    const value = fc.jsonValue({ maxDepth: 8 }).filter((json) => !JSON.stringify(json).includes('__proto__'));
    fc.assert(
      fc.property(value, fc.boolean(), (json, isSpaced) => {
        const text = JSON.stringify(json, null, isSpaced ? 2 : undefined);
        expect(parseStrictJson(bytes(text))).toEqual(JSON.parse(text));
      }),
      { seed: SEED, numRuns: 300 },
    );
  });

  it('never accepts what JSON.parse refuses', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"a"',
      '"\\u0061"',
      ':',
      ',',
      '1',
      '-',
      '1e5',
      'true',
      'null',
      ' ',
      '\\',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('');
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        if (!isJson) expect(refusal(text)).not.toBe('accepted');
      }),
      { seed: SEED, numRuns: 2_000 },
    );
  });

  it('finds every member that stands twice, however it is spelled and wherever', () => {
    expect(refusal('{"a":{"b":1,"b":2}}')).toMatch(/"b" stands twice.*line 1, column 13/);
    expect(refusal('[{"a" :1},{"a"\n:1,\n"\\u0061":2}]')).toMatch(/"a" stands twice.*line 3/);
    expect(refusal(`{"a":1,"a"${' '.repeat(5_000)}:2}`)).toMatch(/"a" stands twice/);
    expect(refusal('{"a":"a","b":["a","a"],"c":{"a":1}}')).toBe('accepted');
  });

  it('takes paired surrogates and refuses unpaired ones', () => {
    expect(refusal('"\\ud83e\\uddec"')).toBe('accepted');
    expect(refusal('"\\uddec\\ud83e"')).toMatch(/unpaired surrogate/);
    expect(refusal('{"\\ud800":1}')).toMatch(/unpaired surrogate/);
  });

  it('bounds depth and count before anything is built', () => {
    const began = performance.now();
    expect(refusal('['.repeat(500_000))).toMatch(/nests deeper than 64 levels/);
    for (const value of ['0', 'true', 'false', 'null', '""', '[]', '{}']) {
      expect(refusal(`[${`${value},`.repeat(60_000)}${value}]`), value).toMatch(
        /more than 50000 JSON values/,
      );
    }
    expect(refusal(`[${'true,'.repeat(49_000)}null]`)).toBe('accepted');
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(refusal('['.repeat(64) + ']'.repeat(64))).toBe('accepted');
  });

  it('refuses a number past the range of a double, and keeps small ones', () => {
    expect(refusal('[1e309]')).toMatch(/range of a double/);
    expect(refusal('[-1e309]')).toMatch(/range of a double/);
    expect(parseStrictJson(bytes('[1e-400, -0, 1E5]'))).toEqual([0, -0, 100000]);
  });
});
