// @module-tag fast

import { readFileSync } from 'node:fs';
import { SaxesParser } from 'saxes';
import { describe, expect, it } from 'vitest';
import {
  FIGURES_PATH,
  README_PATH,
  recordsOf,
  renderFigures,
  tablesOf,
  withNewTables,
  withRecords,
  writtenFiles,
  type Figures,
} from '#bench/figures/figures.js';
import { plotsOf } from '#bench/figures/plots.js';
import { withTables } from '#bench/figures/tables.js';

const figures = JSON.parse(readFileSync(FIGURES_PATH, 'utf8')) as Figures;
const ORIGIN = {
  command: 'npm run bench -- peers demo',
  machine: 'a CPU',
  date: '2026-11-24',
  commit: 'abc1234',
};
const outputOf = (measured: object): string =>
  `peers on a CPU\n| a table |\n${JSON.stringify({ question: 'peers', ...ORIGIN, figures: measured })}\n`;

describe('the measured figures', () => {
  it('bench/README.md is what `npm run bench -- figures` writes from bench/figures.json', () => {
    expect(readFileSync(README_PATH, 'utf8')).toBe(renderFigures(figures));
  });

  it('the figures command reproduces the tables of README and manual and the plots', () => {
    for (const [path, text] of writtenFiles(figures))
      expect([path, readFileSync(path, 'utf8')]).toEqual([path, text]);
  });

  it('every table is shown on a page, and every plot is XML', () => {
    const texts = [...writtenFiles(figures)];
    const pages = texts.filter(([path]) => path.endsWith('.md')).map(([, text]) => text);
    const shown = (figures.tables ?? []).filter(
      ({ id, plot }) =>
        plot?.file !== undefined || pages.some((text) => text.includes(`<!-- figures: ${id} -->`)),
    );
    expect(shown).toEqual(figures.tables);
    const plots = texts.filter(([path]) => path.endsWith('.svg')).map(([, text]) => text);
    expect(plots.length).toBeGreaterThan(0);
    const parser = new SaxesParser();
    parser.on('error', (error) => expect(error.message).toBe(''));
    for (const plot of plots) parser.write(plot).close();
  });

  it('a page without a table of that name is refused', () => {
    const page = '<!-- figures: unknown -->\n<!-- end of figures -->';
    expect(() => withTables(page, figures.tables ?? [])).toThrow('has the table unknown');
  });

  it('tables of published figures name their source, and no command of ours', () => {
    const table = { id: 't', question: 'q', title: 'T', columns: ['program'], rows: [['theirs']], ...ORIGIN };
    const page = '<!-- figures: t -->\n<!-- end of figures -->';
    const published = { ...table, command: 'From their files', source: 'published', commit: '' } as const;
    expect(withTables(page, [published])).toContain('\n*From their files, 2026-11-24.*\n');
    const measured = { ...table, source: 'typed' } as const;
    expect(withTables(page, [measured])).toContain(
      '`npm run bench -- peers demo`, a CPU, 2026-11-24, commit',
    );
  });

  it('tables of an output are recorded with its origin, in the place of those with their ids', () => {
    const table = { id: 't', question: 'peers', title: 'T', columns: ['program'], rows: [['new']] };
    const added = tablesOf('peers', outputOf({ rate: 1, tables: [{ ...table, ...ORIGIN, machine: '' }] }));
    expect(added).toEqual([{ ...table, ...ORIGIN, source: 'program' }]);
    const others = [
      { ...added[0]!, id: 's' },
      { ...added[0]!, rows: [['old']] },
    ];
    const before = { questions: [], records: [], tables: others };
    expect(withNewTables(before, added).tables).toEqual([others[0], added[0]]);
    expect(withNewTables({ questions: [], records: [] }, added).tables).toEqual(added);
    expect(() => tablesOf('peers', outputOf({ rate: 1 }))).toThrow('the output of peers has tables');
    expect(() => tablesOf('growth', outputOf({ rate: 1 }))).toThrow('of the bench peers');
    const records = recordsOf('peers', outputOf({ rate: 1, tables: added }));
    expect(records.map(({ what }) => what)).toEqual(['rate']);
  });

  it('a plot refuses a cell that is no number', () => {
    const [table] = (figures.tables ?? []).filter(({ plot }) => plot?.kind === 'bars');
    expect(() => plotsOf([{ ...table!, rows: [['gloaming', 'fast', 'fast', 'fast']] }])).toThrow(
      'not "fast"',
    );
  });

  it('every record belongs to a question with a title', () => {
    const titled = new Set(figures.questions.map(({ question }) => question));
    expect(figures.records.filter(({ question }) => !titled.has(question))).toEqual([]);
  });

  it('the last line of a bench becomes records with its command, machine, date and commit', () => {
    const records = recordsOf(
      'peers',
      outputOf({ sampled: { perSecond: 8.60049 }, bytes: 1687304, note: 'idle' }),
    );
    const program = { question: 'peers', ...ORIGIN, source: 'program' };
    expect(records).toEqual([
      { ...program, what: 'sampled.perSecond', figure: '8.6' },
      { ...program, what: 'bytes', figure: '1687304' },
      { ...program, what: 'note', figure: 'idle' },
    ]);
  });

  it('only the named members are recorded', () => {
    const output = outputOf({ a: { b: 1, c: 2 }, ab: 3 });
    expect(recordsOf('peers', output, ['a']).map(({ what }) => what)).toEqual(['a.b', 'a.c']);
  });

  it('output of another bench, or without figures, is refused', () => {
    expect(() => recordsOf('size', outputOf({ a: 1 }))).toThrow('the output is of the bench peers');
    expect(() => recordsOf('peers', outputOf({}))).toThrow('name the members');
    expect(() => recordsOf('peers', outputOf({ a: Array.from({ length: 41 }, () => 0) }))).toThrow(
      '41 figures',
    );
  });

  it('a record replaces the one of the same question, name, command and machine', () => {
    const [old] = recordsOf('peers', outputOf({ a: 1 }));
    const [renewed] = recordsOf('peers', outputOf({ a: 2 }));
    const elsewhere = { ...old, machine: 'another CPU' };
    const before = withRecords({ questions: [], records: [] }, [old, elsewhere]);
    expect(withRecords(before, [renewed])).toEqual({
      questions: [{ question: 'peers', title: 'peers' }],
      records: [elsewhere, renewed],
    });
  });
});
