// @module-tag fast

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { a3mHeader, a3mRow } from '#src/sequence/a3m.js';
import { cigarIdentity } from '#src/sequence/cigar.js';

const seed = Number(process.env['GLOAMING_TEST_SEED'] ?? Date.now() % 2 ** 31);
const LETTERS = 'ACDEFGHIKLMNPQRSTVWYX';

interface Pair {
  readonly query: string;
  readonly target: string;
  readonly queryStart: number;
  readonly targetStart: number;
  /** Columns in order, with the residues that face each other. */
  readonly columns: readonly {
    readonly operation: string;
    readonly query: string;
    readonly target: string;
  }[];
}

const residue = fc.constantFrom(...LETTERS);
const overhang = fc.string({ unit: residue, maxLength: 5 });
const column = fc.record({
  operation: fc.constantFrom('=', 'X', 'I', 'D'),
  query: fc.constantFrom(...'ACDEFGHIKL'),
  // Never one of the query's, so that an X column is no identity.
  target: fc.constantFrom(...'MNPQRSTVWYX'),
});

/** Two sequences made around their alignment, so that what each column holds is known without any CIGAR. */
const pairs: fc.Arbitrary<Pair> = fc
  .record({
    before: fc.tuple(overhang, overhang),
    columns: fc.array(column, { minLength: 1, maxLength: 60 }),
    after: fc.tuple(overhang, overhang),
  })
  .map(({ before, columns: drawn, after }) => {
    const columns = drawn.map(({ operation, query, target }) => ({
      operation,
      query: operation === 'D' ? '' : query,
      target: operation === 'I' ? '' : operation === '=' ? query : target,
    }));
    const join = (side: 'query' | 'target'): string => columns.map((one) => one[side]).join('');
    return {
      query: before[0] + join('query') + after[0],
      target: before[1] + join('target') + after[1],
      queryStart: before[0].length,
      targetStart: before[1].length,
      columns,
    };
  });

function cigarOf({ columns }: Pair): string {
  const text = columns.map(({ operation }) => operation).join('');
  return (text.match(/(.)\1*/g) ?? []).map((run) => `${run.length}${run[0]}`).join('');
}

describe('the columns of an A3M row', () => {
  it(`agree with the CIGAR, residue by residue (seed ${seed})`, () => {
    fc.assert(
      fc.property(pairs, (pair) => {
        const { query, target, queryStart, targetStart, columns } = pair;
        const row = a3mRow({
          cigar: cigarOf(pair),
          queryStart,
          targetStart,
          queryLength: query.length,
          target,
        });
        const inside = columns.map(({ operation, target: letter }) =>
          operation === 'I' ? '-' : operation === 'D' ? letter.toLowerCase() : letter,
        );
        const alignedCount = columns.filter(({ operation }) => operation !== 'D').length;
        const behind = '-'.repeat(query.length - queryStart - alignedCount);
        expect(row).toBe('-'.repeat(queryStart) + inside.join('') + behind);
        // The round trip: without insertions a row lies over the query, and identical columns show its letters.
        const over = [...row.replace(/[a-z]/g, '')];
        expect(over).toHaveLength(query.length);
        const identical = columns.filter(({ operation }) => operation === '=').length;
        const shown = over.slice(queryStart, queryStart + alignedCount);
        expect(shown.filter((letter, at) => letter === query[queryStart + at])).toHaveLength(identical);
        expect(cigarIdentity(cigarOf(pair))).toBeCloseTo(identical / columns.length, 12);
      }),
      { seed },
    );
  });
});

describe('an A3M header', () => {
  const hit = {
    id: 'P12345',
    score: 340,
    sequenceIdentityRatio: 0.9943,
    queryCoverageRatio: 176 / 180,
    queryStart: 0,
    queryEnd: 176,
    targetStart: 2,
    targetEnd: 178,
    targetLength: 200,
  };

  it('starts with the id of the protein, followed by its scores', () => {
    expect(a3mHeader({ ...hit, eValue: 8.398e-104, taxid: '562' })).toBe(
      'P12345 E=8.4e-104 identity=0.994 coverage=0.978 taxid=562 score=340 query=1-176 target=3-178/200',
    );
  });

  it('leaves out absent values and replaces blanks in an id', () => {
    expect(a3mHeader({ ...hit, id: 'a b\tc' })).toBe(
      'a_b_c identity=0.994 coverage=0.978 score=340 query=1-176 target=3-178/200',
    );
  });
});
