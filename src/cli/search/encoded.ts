import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Warning } from '../../contract/grammar/envelope.js';
import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { alignmentFileName } from '../../services/export/alignment-files.js';
import { ArrowEncoder } from '../../services/export/arrow.js';
import {
  CONDITIONAL_COLUMN,
  PROBABILITY_COLUMN,
  WIDE_ALIGNMENT_COLUMNS,
  WIDE_COLUMNS,
  columnsOfSearch,
  type ExportColumn,
} from '../../services/export/columns.js';
import type { ExportFormat } from '../../services/export/formats.js';
import type { ExportEncoder, ExportedSearch, ExportQuery } from '../../services/export/rows.js';
import { fastaEncoder, wideEncoder } from '../../services/export/text.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import type { CommandContext } from '../terminal/command.js';
import { warningLine } from '../terminal/warning.js';
import { writeOutput } from './output.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

/* Formats that the command line and exports of runs share. The exports' encoders write them. */

/** Tab-separated values: a header line, then one line for each candidate. An absent value is empty. */
export function formatTsv(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  return encoded(reports, (search) => wideEncoder(search, columnsOf(layout)));
}

/** FASTA of the found proteins, each once. */
export function formatFasta(reports: AsyncIterable<SearchReport>): SearchOutput {
  return encoded(reports, fastaEncoder);
}

/** An Arrow IPC file with the columns of the TSV. An absent value is null. */
export function formatArrow(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  return encoded(reports, (search) => new ArrowEncoder(search, columnsOfSearch(search, columnsOf(layout))));
}

/** Writes a format of the exports. Warnings about the file go to standard error. */
export async function* formatAsExport(
  reports: AsyncIterable<SearchReport>,
  format: ExportFormat,
  { stderr }: Pick<CommandContext, 'stderr'>,
): SearchOutput {
  let encoder: ExportEncoder | undefined;
  yield* encoded(reports, (search) => (encoder = format.encoder(search)));
  if (encoder?.leftOutCount !== undefined)
    stderr.write(describeRows(encoder.recordCount, encoder.leftOutCount));
  for (const warning of encoder?.warnings ?? []) stderr.write(warningLine(warning));
}

/**
 * Writes the alignment of each query into a file of its own in a folder, which is made where it is missing.
 * Errors  those of the reports and of the file system; Refusal `msa_too_large`
 */
export async function writeAlignments(
  reports: AsyncIterable<SearchReport>,
  format: ExportFormat,
  folder: string,
  { stderr }: Pick<CommandContext, 'stderr'>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const warnings = new Map<string, Warning>();
  let index = 0;
  let recordCount = 0;
  let leftOutCount = 0;
  for await (const report of reports) {
    const encoder = format.encoder(searchOf(report));
    const query = queryOf(report, index);
    const bytes = await encoder.add(query, candidatesOf(report));
    await writeOutput(once(bytes), join(folder, alignmentFileName(query)), process.stdout);
    for (const warning of encoder.warnings ?? []) warnings.set(warning.code, warning);
    recordCount += encoder.recordCount;
    leftOutCount += encoder.leftOutCount ?? 0;
    index += 1;
  }
  stderr.write(`${index} alignments in ${folder}. ${describeRows(recordCount, leftOutCount)}`);
  for (const warning of warnings.values()) stderr.write(warningLine(warning));
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The cut-offs of the options have left out others before: without any more, only the rows are counted. */
function describeRows(recordCount: number, leftOutCount: number): string {
  const leftOut =
    `; ${leftOutCount} candidates are not likely enough or cover too little of it ` +
    '(--max-evalue, --min-query-coverage)';
  return `${recordCount} rows besides the query${leftOutCount === 0 ? '' : leftOut}.\n`;
}

/** Columns of a table of our own, by what the options ask for. */
function columnsOf({
  hasAlignments,
  hasProbability = false,
  hasFurther = false,
}: Pick<Layout, 'hasAlignments' | 'hasFurther' | 'hasProbability'>): readonly ExportColumn[] {
  const columns = hasAlignments ? WIDE_ALIGNMENT_COLUMNS : WIDE_COLUMNS;
  return [
    ...columns,
    ...(hasFurther ? [CONDITIONAL_COLUMN] : []),
    ...(hasProbability ? [PROBABILITY_COLUMN] : []),
  ];
}

/** Search description for an input without queries. */
const NOTHING: ExportedSearch = { database: '', targetCount: 0, residueCount: 0 };

async function* encoded(
  reports: AsyncIterable<SearchReport>,
  encoderOf: (search: ExportedSearch) => ExportEncoder,
): SearchOutput {
  let encoder: ExportEncoder | undefined;
  let index = 0;
  for await (const report of reports) {
    encoder ??= encoderOf(searchOf(report));
    yield await encoder.add(queryOf(report, index), candidatesOf(report));
    index += 1;
  }
  yield (encoder ?? encoderOf(NOTHING)).end();
}

function searchOf({ database, targetSpace, request, propagation }: SearchReport): ExportedSearch {
  return {
    databaseSize: request.databaseSize,
    database: database.slug,
    targetCount: targetSpace.searchedTargetCount,
    residueCount: targetSpace.searchedResidueCount,
    isPropagated: propagation !== undefined,
  };
}

function queryOf(
  { query: { id, sequence }, homologs, propagation, sort }: SearchReport,
  index: number,
): ExportQuery {
  const propagated = propagation && { hits: propagation.hits, sort };
  return { index, id, sequence, homologs, ...(propagated && { propagated }) };
}

function candidatesOf({ result, release }: SearchReport): HomologyCandidate[] {
  return result.candidates.map((candidate) => presentCandidate(candidate, result.queryLength, release));
}
