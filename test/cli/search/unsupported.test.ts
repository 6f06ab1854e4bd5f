// @module-tag fast

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import type { FormatName } from '#src/cli/search/options.js';
import type { SearchReport } from '#src/cli/search/report.js';
import { selectReports } from '#src/cli/search/selection.js';
import { formatTables } from '#src/cli/search/table.js';
import { reportUnsupported } from '#src/cli/search/unsupported.js';
import type { CandidateSignificance, UnsupportedReason } from '#src/search/pairs/candidate-significance.js';
import { each, layout, reportOf, textOf } from './reports.js';

const SUPPORTED = {
  query_minimum_residues: 30,
  query_maximum_residues: 3_954,
  target_minimum_residues: 31,
  target_maximum_residues: 2_000,
};

function unsupported(reason: UnsupportedReason): CandidateSignificance {
  return {
    kind: 'unsupported',
    reason,
    calibration: { id: 'cal', card: { supported: SUPPORTED } },
  } as unknown as CandidateSignificance;
}

/** A report whose candidates have no E-values for these reasons; the others keep theirs. */
function reportWith(
  id: string,
  reasons: readonly (UnsupportedReason | undefined)[],
  queryLength = 5_000,
): SearchReport {
  const report = reportOf({ eValues: [1e-9, 1e-5, 12] });
  const candidates = report.result.candidates.map((candidate, at) => {
    const reason = reasons[at];
    return reason === undefined ? candidate : { ...candidate, significance: unsupported(reason) };
  });
  return { ...report, query: { ...report.query, id }, result: { ...report.result, candidates, queryLength } };
}

const all = (reason: UnsupportedReason): readonly UnsupportedReason[] => [reason, reason, reason];

async function explained(format: FormatName, ...reports: SearchReport[]) {
  const stderr = new PassThrough();
  const texts: (string | undefined)[] = [];
  for await (const { unsupported: text } of reportUnsupported(each(...reports), format, { stderr }))
    texts.push(text);
  return {
    texts,
    lines: String(stderr.read() ?? '')
      .split('\n')
      .filter(Boolean),
  };
}

const PREFIX = 'gloaming: warning: without_e_values: ';
const TOO_LONG =
  'No E-values for Q1: it has 5,000, and they exist for 30 to 3,954 residues. --query-range searches a part of it.';

describe('candidates of a calibrated release without E-values', () => {
  it('are explained by the length or the composition of the query', async () => {
    const { texts, lines } = await explained(
      'm8',
      reportWith('Q1', all('query_too_long')),
      reportWith('Q2', all('query_too_short'), 12),
      reportWith('Q3', all('query_composition_not_calibrated')),
    );
    expect(texts).toEqual([
      TOO_LONG,
      'No E-values for Q2: it has 12, and they exist for 30 to 3,954 residues.',
      'No E-values for Q3: its composition is too one-sided for the calibration.',
    ]);
    expect(lines).toEqual(texts.map((text) => PREFIX + text));
  });

  it('are counted over all queries if their targets are the cause', async () => {
    const { lines } = await explained(
      'tsv',
      reportWith('Q1', ['target_too_long', undefined, undefined]),
      reportWith('Q2', ['target_too_short', 'target_too_long', 'no_affine_score']),
    );
    expect(lines).toEqual([
      `${PREFIX}3 candidates have no E-value: the calibration covers targets of 31 to 2,000 residues.`,
    ]);
  });

  it('are named for five queries, and counted for the others', async () => {
    const reports = Array.from({ length: 7 }, (_, at) => reportWith(`Q${at}`, all('query_too_long')));
    const { lines } = await explained('json', ...reports);
    expect(lines).toHaveLength(6);
    expect(lines[5]).toBe(`${PREFIX}2 more queries have none for such reasons.`);
  });

  it('are no matter of a search whose aligned candidates have E-values', async () => {
    expect(await explained('m8', reportWith('Q1', [undefined, undefined, 'no_affine_score']))).toEqual({
      texts: [undefined],
      lines: [],
    });
  });

  it('are explained below the table, also if a cut-off leaves them out', async () => {
    const context = { stderr: new PassThrough() };
    const reports = reportUnsupported(each(reportWith('Q1', all('query_too_long'))), 'table', context);
    const cutOffs = { maximum_expected_false_hits: 1e-3 };
    const shown = selectReports(reports, { cutOffs, sort: 'evalue' }, 'table', context);
    const table = await textOf(formatTables(shown, layout));
    expect(table).toContain('3 of 3 candidates do not pass the cut-offs and are left out.');
    expect(table).toContain(`\n${TOO_LONG}\n`);
    expect(table).not.toContain('no qualified calibration');
    expect(context.stderr.read()).toBeNull();
  });
});

it('a search whose cut-off leaves out all candidates is ordered by their E-values', async () => {
  const context = { stderr: new PassThrough() };
  const selection = { cutOffs: { maximum_expected_false_hits: 1e-300 }, sort: 'evalue' } as const;
  const shown = selectReports(each(reportOf({ eValues: [1e-9, 1e-5, 12] })), selection, 'table', context);
  expect(await textOf(formatTables(shown, layout))).toContain('Ordered by E-value');
});
