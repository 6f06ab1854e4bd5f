// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { PairwiseAlignment } from '#src/contract/search/candidate-set.js';
import { joinAlignments } from '#src/services/msa/joined.js';
import type { PossibleRow } from '#src/services/msa/rows.js';
import { decideParameters, selectRows, warningsOf } from '#src/services/msa/select-rows.js';

const QUERY = 'MKTAYIAKQR';
const EVERYTHING = {
  maximum_depth: 100,
  minimum_query_coverage_ratio: 0,
  minimum_sequence_identity_ratio: 0,
  maximum_sequence_identity_ratio: 1,
  maximum_pairwise_identity_ratio: 1,
  selection: 'identity_strata',
} as const;

interface RowParts {
  readonly row?: string;
  readonly eValue?: number;
  readonly score?: number;
  readonly coverage?: number;
}

let rank = 0;
function row(name: string, identity: number, parts: RowParts = {}): PossibleRow {
  const { row: text = name.padEnd(10, '-'), eValue, score = 0, coverage = 1 } = parts;
  rank += 1;
  return {
    evidence: {
      rank,
      rawScore: 1_000 * score,
      alignment: { queryCoverageRatio: coverage, targetCoverageRatio: 1, sequenceIdentityRatio: identity },
      ...(eValue !== undefined && { logEValue: Math.log(eValue) }),
    },
    normalizedScore: score,
    write: () => ({
      target_id: name,
      query_coverage_ratio: coverage,
      sequence_identity_ratio: identity,
      header: name,
      row: text,
    }),
  };
}

async function select(candidates: readonly PossibleRow[], more: object = {}) {
  const { signal } = new AbortController();
  const selected = await selectRows(candidates, QUERY, { ...EVERYTHING, ...more }, signal);
  return { ...selected, names: selected.rows.map(({ target_id }) => target_id) };
}

describe('the row of a pair with several alignments', () => {
  const alignment = (queryStart: number, targetStart: number, length: number): PairwiseAlignment => ({
    ...({ cigar_dialect: 'extended', coordinate_system: 'zero_based_half_open' } as PairwiseAlignment),
    cigar: `${length}=`,
    query_start: queryStart,
    query_end: queryStart + length,
    target_start: targetStart,
    target_end: targetStart + length,
    identical_residue_count: length / 5,
    aligned_residue_count: length,
    gap_residue_count: 0,
  });
  const joined = (...alignments: readonly PairwiseAlignment[]) =>
    joinAlignments(
      { alignments: alignments.map((each) => ({ alignment: each, raw_score: 1 })) },
      alignments[0]!,
    );

  it('joins those in one order, with the residues between them as gaps', () => {
    const best = alignment(50, 60, 20);
    expect(joined(best, alignment(10, 5, 30), alignment(70, 80, 5))).toEqual({
      cigar: '30=10I25D20=5=',
      queryStart: 10,
      queryEnd: 75,
      targetStart: 5,
      targetEnd: 85,
      coveredQueryResidues: 55,
      coveredTargetResidues: 55,
      // The 35 residues between alignments are no columns of them.
      sequenceIdentityRatio: 0.2,
    });
  });

  it('leaves out those in another order and those that overlap in either protein', () => {
    const best = alignment(50, 60, 20);
    const alone = joined(best);
    expect(joined(best, alignment(10, 90, 30), alignment(40, 5, 11), alignment(0, 30, 31))).toEqual(alone);
  });
});

describe('rows of an alignment', () => {
  it('stay in the order of the ranks, without those that equal the query or one before', async () => {
    const candidates = [row('SELF', 1, { row: QUERY }), row('A', 0.3), row('B', 0.2), row('A', 0.3)];
    expect(await select(candidates)).toMatchObject({ names: ['A', 'B'], duplicateCount: 2 });
  });

  it('are kept apart by an insertion, which is part of a row', async () => {
    const candidates = [row('A', 0.3, { row: 'MK--------' }), row('B', 0.3, { row: 'MKv--------' })];
    expect((await select(candidates)).names).toEqual(['A', 'B']);
  });

  it('without an E-value pass no bound on E-values', async () => {
    const candidates = [row('A', 0.3, { eValue: 1e-9 }), row('B', 0.3), row('C', 0.3, { eValue: 2 })];
    const selected = await select(candidates, { maximum_expected_false_hits: 1 });
    expect(selected).toMatchObject({ names: ['A'], filteredCount: 2 });
  });

  it('beyond the depth are dropped class by class: near ones do not displace all distant ones', async () => {
    const near = Array.from({ length: 8 }, (_, at) => row(`N${at}`, 0.95));
    const far = [row('F0', 0.15), row('F1', 0.12)];
    const middle = [row('M0', 0.45)];
    const selected = await select([...near, ...far, ...middle], { maximum_depth: 6 });
    expect(selected).toMatchObject({ names: ['N0', 'N1', 'F0', 'F1', 'M0'], beyondDepthCount: 6 });
  });

  it('beyond the depth are the last ranks where ranks are asked for', async () => {
    const candidates = [row('A', 0.9), row('B', 0.9), row('C', 0.1)];
    const selected = await select(candidates, { maximum_depth: 3, selection: 'rank' });
    expect(selected).toMatchObject({ names: ['A', 'B'], beyondDepthCount: 1 });
  });

  it('are absent at a depth of one, which the query uses', async () => {
    expect(await select([row('A', 0.9)], { maximum_depth: 1 })).toMatchObject({ names: [] });
  });

  it('are no longer written after the reader has gone', async () => {
    const controller = new AbortController();
    const many = Array.from({ length: 1_000 }, (_, at) => row(`R${at}`, 0.5));
    const selecting = selectRows(many, QUERY, EVERYTHING, controller.signal);
    controller.abort(new Error('gone'));
    await expect(selecting).rejects.toThrow('gone');
  });
});

describe('rows that are nearly equal', () => {
  const near = [
    row('A', 0.9, { row: 'MKTAYIAKQW' }),
    row('B', 0.5, { row: 'MKTAYWWWWW' }),
    row('C', 0.5, { row: 'MKTAYWWWWV' }),
    row('D', 0.1, { row: '-----CCCCC' }),
  ];

  it('are dropped in favour of the query and the first of them', async () => {
    const bound = (maximum_pairwise_identity_ratio: number) =>
      select(near, { maximum_pairwise_identity_ratio });
    expect(await bound(0.95)).toMatchObject({ names: ['A', 'B', 'C', 'D'], redundantCount: 0 });
    expect(await bound(0.89)).toMatchObject({ names: ['B', 'D'], redundantCount: 2 });
    expect(await bound(0.4)).toMatchObject({ names: ['D'], redundantCount: 3 });
  });

  it('stay apart where they share no column', async () => {
    const halves = [row('L', 0.1, { row: 'WWWWW-----' }), row('R', 0.1, { row: '-----WWWWW' })];
    expect((await select(halves, { maximum_pairwise_identity_ratio: 0 })).names).toEqual(['L', 'R']);
  });

  it('must differ more as long as enough others remain', async () => {
    const options = { maximum_pairwise_identity_ratio: 0.95 };
    expect((await select(near, { ...options, diverse_row_count: 1 })).names).toEqual(['D']);
    expect((await select(near, { ...options, diverse_row_count: 2 })).names).toEqual(['B', 'D']);
    expect((await select(near, { ...options, diverse_row_count: 9 })).names).toEqual(['A', 'B', 'C', 'D']);
  });
});

describe('rows that must differ in each block of 50 columns', () => {
  it('count only in the blocks that they fill by half, and short rows stay where rows are missing', async () => {
    const query =
      'MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKRQTLGQHDFSAGEGLYTHMKALR';
    const gapped = (start: number, residues: string): string =>
      ('-'.repeat(start) + residues).padEnd(query.length, '-');
    const rows = [
      // It fills the second block and touches the first by ten columns.
      row('SECOND', 0.5, { row: gapped(40, 'W'.repeat(60)) }),
      row('FIRST', 0.4, { row: gapped(0, 'H'.repeat(50)) }),
      // No block is filled by it, and each has a row already.
      row('SHORT', 0.3, { row: gapped(45, 'C'.repeat(10)) }),
    ];
    const selected = await selectRows(
      rows,
      query,
      { ...EVERYTHING, maximum_pairwise_identity_ratio: 0.95, diverse_row_count: 1 },
      new AbortController().signal,
    );
    expect(selected.rows.map(({ target_id }) => target_id).toSorted()).toEqual(['FIRST', 'SECOND']);
  });
});

describe('the default rules for rows', () => {
  const options = { ...EVERYTHING, minimum_query_coverage_ratio: 0.5 };

  it('is an E-value of 0.001 where there are any', () => {
    const parameters = decideParameters([row('A', 0.3, { eValue: 1 }), row('B', 0.3)], options);
    expect(parameters).toMatchObject({ maximum_expected_false_hits: 1e-3 });
    expect(warningsOf(parameters)).toEqual([]);
  });

  it('is a score where there are none, which a warning says', async () => {
    const rows = [row('A', 0.3, { score: 0.3 }), row('B', 0.3, { score: 0.2 })];
    const parameters = decideParameters(rows, options);
    expect(parameters).not.toHaveProperty('maximum_expected_false_hits');
    expect((await select(rows, parameters)).names).toEqual(['A']);
    expect(warningsOf(parameters)).toMatchObject([{ code: 'msa_without_e_values' }]);
  });

  it('is overridden by the request', () => {
    const wide = { ...options, maximum_expected_false_hits: 10 };
    expect(decideParameters([row('A', 0.3, { eValue: 1 })], wide)).toEqual(wide);
    const scored = { ...options, minimum_normalized_score: 0 };
    expect(decideParameters([row('A', 0.3)], scored)).toEqual(scored);
    expect(() => decideParameters([row('A', 0.3)], wide)).toThrow('No calibration gives');
  });
});
