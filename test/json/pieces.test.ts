// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonInTurns } from '#src/json/pieces.js';

const SEED = Date.now() % 2 ** 31;

describe(`JSON that is written in turns (seed ${SEED})`, () => {
  it('equals the output of JSON.stringify', async () => {
    const property = fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.nat(40), async (value, count) => {
      const list = Array.from({ length: count * 40 }, (_, index) => ({ index, value, none: undefined }));
      for (const object of [
        { value, list, none: undefined, 'é\u2028"': [[], {}] },
        { list },
        {},
        { value },
      ]) {
        expect(Buffer.concat(await jsonInTurns(object)).toString()).toBe(JSON.stringify(object));
      }
    });
    await fc.assert(property, { seed: SEED, numRuns: 50 });
  });

  it('is written in pieces, and yields to other work', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 0);
    const list = Array.from({ length: 20_000 }, (_, index) => ({ index, text: 'protein '.repeat(100) }));
    const pieces = await jsonInTurns({ list });
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(3);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(128 * 1024);
  });
});
