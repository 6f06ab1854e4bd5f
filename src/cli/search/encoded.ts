import { ArrowEncoder } from '../../services/export/arrow.js';
import { WIDE_ALIGNMENT_COLUMNS, WIDE_COLUMNS } from '../../services/export/columns.js';
import type { ExportFormat } from '../../services/export/formats.js';
import type { ExportEncoder, ExportedSearch } from '../../services/export/rows.js';
import { wideEncoder } from '../../services/export/text.js';
import { presentCandidate } from '../../services/search/present-candidates.js';
import type { CommandContext } from '../terminal/command.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

/* Formats that the command line and exports of runs share. The exports' encoders write them. */

/** Tab-separated values: a header line, then one line for each candidate. An absent value is empty. */
export function formatTsv(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  return encoded(reports, (search) => wideEncoder(search, columnsOf(layout)));
}

/** An Arrow IPC file with the columns of the TSV. An absent value is null. */
export function formatArrow(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  return encoded(reports, (search) => new ArrowEncoder(search, columnsOf(layout)));
}

/** Writes a format of the exports. Warnings about the file go to standard error. */
export async function* formatAsExport(
  reports: AsyncIterable<SearchReport>,
  format: ExportFormat,
  { stderr }: Pick<CommandContext, 'stderr'>,
): SearchOutput {
  let encoder: ExportEncoder | undefined;
  yield* encoded(reports, (search) => (encoder = format.encoder(search)));
  if (encoder?.leftOutCount !== undefined) {
    stderr.write(
      `${encoder.recordCount} rows besides the query; ${encoder.leftOutCount} candidates are not likely enough or ` +
        'cover too little of it (--max-evalue, --min-query-coverage).\n',
    );
  }
  for (const { code, message } of encoder?.warnings ?? [])
    stderr.write(`gloaming: warning: ${code}: ${message}\n`);
}

function columnsOf({ hasAlignments }: Layout) {
  return hasAlignments ? WIDE_ALIGNMENT_COLUMNS : WIDE_COLUMNS;
}

/** Search description for an input without queries. */
const NOTHING: ExportedSearch = { database: '', targetCount: 0, residueCount: 0 };

async function* encoded(
  reports: AsyncIterable<SearchReport>,
  encoderOf: (search: ExportedSearch) => ExportEncoder,
): SearchOutput {
  let encoder: ExportEncoder | undefined;
  let index = 0;
  for await (const { query, result, release, database, targetSpace } of reports) {
    encoder ??= encoderOf({
      database: database.slug,
      targetCount: targetSpace.searchedTargetCount,
      residueCount: targetSpace.searchedResidueCount,
    });
    const candidates = result.candidates.map((candidate) =>
      presentCandidate(candidate, result.queryLength, release),
    );
    yield await encoder.add({ index, id: query.id, sequence: query.sequence }, candidates);
    index += 1;
  }
  yield (encoder ?? encoderOf(NOTHING)).end();
}
