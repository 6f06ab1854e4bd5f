import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalSha256, canonicalSha256InTurns } from '#src/canonical.js';

const SEED = Date.now() % 2 ** 31;

describe(`a canonical hash that is written in turns (seed ${SEED})`, () => {
  it('equals the digest of the value that is written in one piece', async () => {
    const property = fc.asyncProperty(fc.jsonValue({ maxDepth: 4 }), fc.nat(40), async (value, count) => {
      const long = Array.from({ length: count * 40 }, (_, index) => [index, value]);
      const text = `"é🧬\n${count}`.repeat(20_000);
      const large = { value, long, text, 'é\u2028': [long.slice(0, 3), {}], '': [], '😀': 1, ｚ: 2 };
      expect(await canonicalSha256InTurns(large)).toBe(canonicalSha256(large));
    });
    await fc.assert(property, { seed: SEED, numRuns: 30 });
  });

  it('lets others have their turn', async () => {
    let turns = 0;
    const ticking = setInterval(() => (turns += 1), 0);
    await canonicalSha256InTurns(Array.from({ length: 300_000 }, (_, index) => ({ id: `q${index}` })));
    clearInterval(ticking);
    expect(turns).toBeGreaterThan(5);
  });
});
