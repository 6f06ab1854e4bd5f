// @module-tag fast

import { describe, expect, it } from 'vitest';
import { formatDistance, formatEValue, formatPercent } from '#src/cli/terminal/numbers.js';
import { layoutFor } from '#src/cli/search/output.js';
import { ANSI_STYLE, PLAIN_STYLE, type Layout, type SearchReport } from '#src/cli/search/report.js';
import { formatTables } from '#src/cli/search/table.js';
import type { CommandContext } from '#src/cli/terminal/command.js';
import { each, layout, reportOf, textOf } from './reports.js';

const draw = (report: SearchReport, changes: Partial<Layout> = {}): Promise<string> =>
  textOf(formatTables(each(report), { ...layout, ...changes }));

describe('the table of a search', () => {
  it('names the database, the candidates and the meaning of the columns', async () => {
    expect(await draw(reportOf({ eValues: [1e-9, 0.0123, 130] }))).toBe(`\
Query     Q1  22 residues
Database  tiny  Tiny database
          1,234 proteins, all of them compared

no.  target  organism               distance  score  E-value  coverage  identity
  1  P00001  Escherichia coli (st…    0.0000    110   1.0e-9     100 %     100 %
  2  P00002                           0.2500     61    0.012      77 %      74 %
  3  P00003  Saccharomyces cerevi…    0.7500      0      130         –         –

The nearest 3 of 1,234; --limit looks at more.
Ordered by E-value, then by score (--sort distance: nearest first).
A distance of 0 is the same protein; near does not mean homologous.
`);
  });

  it('shows ranks, which count by distance, in the order of distance only', async () => {
    const report = reportOf({ eValues: [1e-9, 0.5, 3] });
    const [first, second, third] = report.result.candidates;
    const result = { ...report.result, candidates: [third, first, second] };
    const firstColumn = async (sort: SearchReport['sort']): Promise<(string | undefined)[]> =>
      (await draw({ ...report, result, sort }))
        .split('\n')
        .slice(4, 8)
        .map((line) => line.trim().split(' ')[0]);
    expect(await firstColumn('rank')).toEqual(['rank', '3', '1', '2']);
    expect(await firstColumn('evalue')).toEqual(['no.', '1', '2', '3']);
    expect(await firstColumn('score')).toEqual(['no.', '1', '2', '3']);
  });

  it('does not claim an order by E-value without E-values', async () => {
    const text = await draw(reportOf());
    expect(text).toContain('Ordered by score, as there are no E-values');
    expect(text).not.toContain('Ordered by E-value');
  });

  it('shows names on a wide terminal and omits them on a narrow one', async () => {
    expect(await draw(reportOf(), { columns: 120 })).toContain('  Uncharacterized protein with a name th…  ');
    expect(await draw(reportOf(), { columns: 60 })).not.toContain('organism');
  });

  it.each([80, 100, 120, 200])('has no line longer than %i columns', async (columns) => {
    const text = await draw(reportOf({ eValues: [1e-9, 0.5, 3] }), { columns, hasAlignments: true });
    for (const line of text.split('\n')) expect([...line].length).toBeLessThanOrEqual(columns);
  });

  it('omits columns that were not computed, and gives the reason for absent E-values', async () => {
    const text = await draw(reportOf({ alignments: false }));
    expect(text).not.toMatch(/E-value  |coverage|identity/);
    expect(text).toContain('No E-values: this release has no qualified calibration.');
  });

  it('counts the proteins that pass a filter, and reports if none does', async () => {
    const report = reportOf();
    const targetSpace = { ...report.targetSpace, eligible: new Uint32Array(0), searchedTargetCount: 0 };
    const result = { ...report.result, candidates: [], isResultLimitReached: false };
    const text = await draw({ ...report, targetSpace, result });
    expect(text).toContain('0 of 1,234 proteins pass the filter\n');
    expect(text).toContain('No protein passes the filter, so nothing was compared.');
  });

  it('states that an approximate policy compares only the nearest proteins in full', async () => {
    const report = reportOf();
    const drawBy = (usesCodebook: boolean): Promise<string> => {
      const losses = 'misses 5.4 % of the 10 nearest';
      const sampled = { nearestCount: 100, localCount: 50, qualificationId: 'qual_1', usesCodebook, losses };
      const policy = { ...report.result.policy, isExhaustive: false, sampled };
      return draw({ ...report, result: { ...report.result, policy } });
    };
    expect(await drawBy(false)).toContain(
      '1,234 proteins, all of them looked at, the nearest compared in full\n',
    );
    expect(await drawBy(false)).not.toContain('misses');
    expect(await drawBy(true)).toContain(
      'Codes were looked up first. Measured here, that\nmisses 5.4 % of the 10 nearest.\n',
    );
  });

  it('marks simulated proteins as simulated', async () => {
    const report = reportOf();
    const release = { ...report.release, manifest: { ...report.release.manifest, is_simulated: true } };
    expect(await draw({ ...report, release })).toContain('(simulated, not real)');
  });

  it('draws alignments in blocks with residue numbers, identities and likeness', async () => {
    expect(await draw(reportOf(), { hasAlignments: true })).toContain(`
2. P00002  Uncharacterized protein with a name that goes on and on
   distance 0.2500, score 61 (0.555 of a self match)
   identical 14/19 (74 %), similar 17/19 (89 %), gaps 2/19 (11 %)

   query   1  MKTAYIAKQR--QISFVKS  17
              M+TAY+AKQR  QISF+KS
   target  3  MRTAYLAKQRAAQISFIKS  21

3. P00003  Saccharomyces cerevisiae
   no pair of residues scores above zero: nothing to align
`);
  });

  it('breaks a long alignment into blocks that count on', async () => {
    const text = await draw(reportOf(), { hasAlignments: true, columns: 40 });
    expect(text).toContain('query   1  MKTAYIAKQRQISFVKSHFS  20');
    expect(text).toContain('query  21  RQ  22');
  });
});

describe('the layout of a search', () => {
  const contextOf = (terminal: object, environment = {}): CommandContext =>
    ({ environment, stdout: terminal }) as unknown as CommandContext;

  it('has colours on a terminal only, and never against NO_COLOR', () => {
    const terminal = { isTTY: true, columns: 80 };
    const layoutOf = (stream: object, environment = {}, path?: string): Layout =>
      layoutFor(contextOf(stream, environment), { hasAlignments: false, manual: layout.manual, path });
    expect(layoutOf(terminal)).toMatchObject({ columns: 80, isTerminal: true, style: ANSI_STYLE });
    expect(layoutOf(terminal, { NO_COLOR: '1' }).style).toBe(PLAIN_STYLE);
    expect(layoutOf(terminal, { TERM: 'dumb' }).style).toBe(PLAIN_STYLE);
    expect(layoutOf(terminal, {}, 'found.txt')).toMatchObject({ isTerminal: false, style: PLAIN_STYLE });
    expect(layoutOf({})).toMatchObject({ isTerminal: false, style: PLAIN_STYLE });
  });

  it('names the pages of the manual on a terminal, and not in a file', async () => {
    const footOf = async (isTerminal: boolean, eValues?: readonly number[]): Promise<string | undefined> =>
      (await draw(reportOf(eValues && { eValues }), { isTerminal })).split('\n\n').at(-1);
    expect(await footOf(true, [1e-9, 0.5, 3])).toContain(
      'What the columns mean: http://lab/docs/numbers (while the server runs)\n',
    );
    expect(await footOf(true)).toContain(
      'No E-values: this release has no qualified calibration. ' +
        'See http://lab/docs/operate#no-e-values\n',
    );
    expect(await footOf(false)).not.toContain('http');
    expect(await footOf(false, [1e-9, 0.5, 3])).not.toContain('http');
  });

  it('keeps the table aligned when the header is coloured', async () => {
    const colour = await draw(reportOf(), { style: ANSI_STYLE });
    // eslint-disable-next-line no-control-regex -- these are the colours
    expect(colour.replace(/\u001b\[\d+m/g, '')).toBe(await draw(reportOf()));
    expect(colour).not.toBe(await draw(reportOf()));
  });
});

describe('numbers for people', () => {
  it.each([
    [1, '1'],
    [9.96e-7, '1.0e-6'],
    [1.234e-20, '1.2e-20'],
    [0.00123, '0.0012'],
    [0.05, '0.05'],
    [4.21, '4.2'],
    [1234.5, '1235'],
    [2.5e7, '2.5e7'],
  ])('write the E-value %d as %s', (value, text) => {
    expect(formatEValue(Math.log(value))).toBe(text);
  });

  it('write an E-value that is too small for a double', () => {
    expect(formatEValue(-1_000)).toBe('5.1e-435');
  });

  it('never call a distance negative', () => {
    expect([-0.0949, -0.00012, -0, 0.00004].map(formatDistance)).toEqual(Array(4).fill('0.0000'));
    expect(formatDistance(0.12345)).toBe('0.1235');
  });

  it('never round a part up to the whole', () => {
    expect(formatPercent(0.999)).toBe('99 %');
    expect(formatPercent(1)).toBe('100 %');
    expect(formatPercent(0)).toBe('0 %');
  });
});
