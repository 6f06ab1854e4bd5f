import { searchColumns } from './columns.js';
import type { Layout, SearchOutput, SearchReport } from './report.js';

/** Tab-separated values: one header row, one row per candidate; an absent value is empty. */
export async function* formatTsv(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  const columns = searchColumns(layout.hasAlignments);
  yield `${columns.map(({ name }) => name).join('\t')}\n`;
  for await (const report of reports) {
    const rows = report.result.candidates.map((candidate) =>
      columns.map((column) => cell(column.value(candidate, report))).join('\t'),
    );
    yield rows.map((row) => `${row}\n`).join('');
  }
}

/** A tab or line end inside a value would start a new cell or row. */
function cell(value: string | number | undefined): string {
  return value === undefined ? '' : String(value).replace(/[\t\r\n]/g, ' ');
}
