import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStrictJson, parseStrictJsonInTurns } from '#src/json/strict.js';

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

  it('accepts documents with one changed character that JSON.parse accepts, except for its documented refusals', () => {
    const property = fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(), fc.nat(), (json, place, letter) => {
      const text = JSON.stringify(json, null, place % 3);
      const at = place % text.length;
      const others = '{}[]",:\\/ueE+-.019tfn \n\t\u0001é🧬';
      const changed = text.slice(0, at) + [...others][letter % 28] + text.slice(at + (letter % 2));
      let expected: unknown;
      try {
        expected = JSON.parse(changed);
      } catch {
        expect(refusal(changed)).not.toBe('accepted');
        return;
      }
      const message = refusal(changed);
      if (message === 'accepted') expect(parseStrictJson(bytes(changed))).toEqual(expected);
      else expect(message).toMatch(/stands twice|__proto__|range of a double|surrogate|not UTF-8/);
    });
    fc.assert(property, { seed: SEED, numRuns: 5_000 });
  });

  it('reads a long string as JSON.parse does, wherever its pieces end', async () => {
    const unit = fc.constantFrom('a', '\n', '"', '\\', 'é', '€', '🧬', '\u2028');
    const long = fc.tuple(fc.array(unit, { minLength: 1, maxLength: 9 }), fc.nat(20), fc.boolean());
    const property = fc.asyncProperty(long, async ([units, shift, isEscaped]) => {
      const value = 'x'.repeat(shift) + units.join('').repeat(Math.ceil(200_000 / units.length));
      const json = JSON.stringify({ [[...value].slice(0, 70_000).join('')]: [value, 1] });
      const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
      const text = isEscaped ? json.replace(/[^ -~]/g, escape) : json;
      expect(await parseStrictJsonInTurns(bytes(text))).toEqual(JSON.parse(text));
    });
    await fc.assert(property, { seed: SEED, numRuns: 20 });
  });

  it('lets others have their turn, however the bytes of a large text are spent', async () => {
    for (const text of [
      JSON.stringify(['x\n'.repeat(4_000_000)]),
      JSON.stringify(Array.from({ length: 45_000 }, (_, at) => 'y'.repeat(at % 400))),
    ]) {
      let turns = 0;
      const ticking = setInterval(() => (turns += 1), 0);
      await parseStrictJsonInTurns(bytes(text));
      clearInterval(ticking);
      expect(turns).toBeGreaterThan(3);
    }
    expect(refusal(`[${' '.repeat(2_000_000)}1]`)).toMatch(/blanks stand in a row/);
    expect(refusal(`[1${'0'.repeat(2_000)}]`)).toMatch(/more than 1024 characters/);
  });

  it('refuses every duplicate member at any depth and in any spelling', () => {
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
    expect(refusal('['.repeat(500_000))).toMatch(/nests deeper than 64 levels/);
    for (const value of ['0', 'true', 'false', 'null', '""', '[]', '{}']) {
      // No JSON, because its end is missing: whatever builds first would say so.
      expect(refusal(`[${`${value},`.repeat(60_000)}${value}`), value).toMatch(/more than 50000 JSON values/);
    }
    expect(refusal(`[${'true,'.repeat(49_000)}null]`)).toBe('accepted');
    expect(refusal('['.repeat(64) + ']'.repeat(64))).toBe('accepted');
  });

  it('refuses a number past the range of a double, and keeps small ones', () => {
    expect(refusal('[1e309]')).toMatch(/range of a double/);
    expect(refusal('[-1e309]')).toMatch(/range of a double/);
    expect(parseStrictJson(bytes('[1e-400, -0, 1E5]'))).toEqual([0, -0, 100000]);
  });
});
