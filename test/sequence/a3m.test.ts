// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { a3mRow } from '#src/sequence/a3m.js';
import { cigarRuns } from '#src/sequence/cigar.js';

const seed = Number(process.env['GLOAMING_TEST_SEED'] ?? Date.now() % 2 ** 31);

describe('a row of an A3M alignment', () => {
  it('has gaps for unaligned query residues and lower case for inserted target residues', () => {
    const alignment = {
      cigar: '2=1I1X3D1=',
      queryStart: 1,
      targetStart: 2,
      queryLength: 8,
      target: 'GGMKAWWWSGG',
    };
    expect(a3mRow(alignment)).toBe('-MK-AwwwS--');
  });

  it('is all gaps for an empty alignment', () => {
    expect(a3mRow({ cigar: '', queryStart: 0, targetStart: 0, queryLength: 4, target: 'MKTA' })).toBe('----');
  });

  it(`is as long as the query without its lower-case letters, and spells the aligned target (seed ${seed})`, () => {
    const run = fc.record({
      operation: fc.constantFrom('=', 'X', 'I', 'D'),
      length: fc.integer({ min: 1, max: 12 }),
    });
    const ends = fc.nat(5);
    fc.assert(
      fc.property(fc.array(run), ends, ends, ends, (runs, queryStart, targetStart, queryRest) => {
        const total = (operations: string): number =>
          runs.reduce((sum, { operation, length }) => sum + (operations.includes(operation) ? length : 0), 0);
        const queryLength = queryStart + total('=XI') + queryRest;
        const aligned = 'ACDEFGHIKLMNPQRSTVWY'.repeat(20).slice(0, total('=XD'));
        const cigar = runs.map(({ operation, length }) => `${length}${operation}`).join('');
        const row = a3mRow({
          cigar,
          queryStart,
          targetStart,
          queryLength,
          target: `${'G'.repeat(targetStart)}${aligned}GG`,
        });
        expect(row.replace(/[a-z]/g, '')).toHaveLength(queryLength);
        expect(row.replaceAll('-', '').toUpperCase()).toBe(aligned);
        expect(row.replace(/[^a-z]/g, '')).toHaveLength(total('D'));
      }),
      { seed },
    );
  });
});

describe('an extended CIGAR', () => {
  it('is parsed to a list of runs, each an operation and a length', () => {
    expect(cigarRuns('12=1X3I')).toEqual([
      { operation: '=', length: 12 },
      { operation: 'X', length: 1 },
      { operation: 'I', length: 3 },
    ]);
  });
});
