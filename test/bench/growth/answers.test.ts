// @module-tag fast

import { describe, expect, it } from 'vitest';
import { answersOf, recallOf } from '#bench/growth/answers.js';
import { WIDE_COLUMNS } from '#src/services/export/columns.js';

/** A table with all columns of the TSV; those that are not given are empty. */
function wideTable(rows: readonly (readonly [query: string, target: string, eValue: string])[]): string {
  const names = WIDE_COLUMNS.map(({ name }) => name);
  const lines = rows.map(([query, target, eValue]) => {
    const cells = new Map([
      ['query_id', query],
      ['target_id', target],
      ['significance.expected_false_hits', eValue],
    ]);
    return names.map((name) => cells.get(name) ?? '').join('\t');
  });
  return [names.join('\t'), ...lines, ''].join('\n');
}

describe('the answers of a search program', () => {
  it('are read from a table of three columns and from the TSV of Gloaming alike', () => {
    const plain = 'q1\tb\t2e-5\nq1\ta\t1e-9\nq1\ta\t3\nq1\tq1\t0\nq2\tc\t0.5\nother\ta\t1\n';
    const wide = wideTable([
      ['q1', 'b', '2e-5'],
      ['q1', 'a', '1e-9'],
      ['q1', 'q1', '0'],
      ['q2', 'c', '0.5'],
    ]);
    const expected = [
      {
        found: [
          { target: 'a', eValue: 1e-9 },
          { target: 'b', eValue: 2e-5 },
        ],
      },
      { found: [{ target: 'c', eValue: 0.5 }] },
      { found: [] },
    ];
    expect(answersOf(plain, ['q1', 'q2', 'q3'])).toEqual(expected);
    expect(answersOf(wide, ['q1', 'q2', 'q3'])).toEqual(expected);
    expect(answersOf('', ['q1'])).toEqual([{ found: [] }]);
  });

  it('are refused without E-values, which no other column may stand in for', () => {
    expect(() => answersOf(wideTable([['q', 'a', '']]), ['q'])).toThrow('has E-values');
    expect(() => answersOf('q\ta\t\n', ['q'])).toThrow('each pair an E-value');
    expect(() => answersOf('q\ta\tnone\n', ['q'])).toThrow('none is an E-value');
    expect(() => answersOf('query_id\ttarget_id\trank\nq\ta\t1\n', ['q'])).toThrow('has the columns');
  });

  it('list a pair of an uncalibrated length last, and never want it', () => {
    const answers = answersOf(
      wideTable([
        ['q', 'a', ''],
        ['q', 'b', '9'],
      ]),
      ['q'],
    );
    expect(answers[0]?.found.map(({ target }) => target)).toEqual(['b', 'a']);
    expect(recallOf(answers, answersOf('q\tb\t1\n', ['q'])).ten_best).toBe(1);
  });

  it('give recall as the mean over the queries that have such pairs', () => {
    const truth = answersOf('q1\ta\t1e-9\nq1\tb\t1e-3\nq1\tc\t2e-3\nq2\td\t5\n', ['q1', 'q2', 'q3']);
    const found = answersOf('q1\ta\t1\nq2\td\t8\nq2\te\t1e-9\n', ['q1', 'q2', 'q3']);
    expect(recallOf(truth, found)).toEqual({
      evident: 1 / 2,
      evident_count: 2,
      ten_best: (1 / 3 + 1) / 2,
      ten_best_likely: 1 / 3,
    });
    const none = { evident: 1, evident_count: 0, ten_best: 1, ten_best_likely: 1 };
    expect(recallOf(answersOf('', ['q1']), found)).toEqual(none);
  });

  it('count the ten smallest E-values only', () => {
    const lines = Array.from({ length: 12 }, (_, at) => `q\tt${at}\t${at + 1}\n`);
    const truth = answersOf(lines.join(''), ['q']);
    expect(recallOf(truth, answersOf(lines.slice(2).join(''), ['q'])).ten_best).toBe(0.8);
    expect(recallOf(truth, answersOf(lines.slice(2).join(''), ['q'])).ten_best_likely, 'one of E ≤ 1').toBe(
      0,
    );
    expect(recallOf(truth, answersOf(lines.slice(0, 10).join(''), ['q'])).ten_best).toBe(1);
  });
});
