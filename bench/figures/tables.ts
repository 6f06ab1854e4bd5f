import { assert } from '../../src/errors.js';

/** A table of measured figures, shown in the manual and in the README. */
export interface FigureTable {
  readonly id: string;
  readonly question: string;
  readonly title: string;
  readonly columns: readonly string[];
  /** One text per column; empty where nothing was measured. */
  readonly rows: readonly (readonly string[])[];
  readonly command: string;
  readonly machine: string;
  /** yyyy-mm-dd. */
  readonly date: string;
  /** Commit of this repository; empty for published figures. */
  readonly commit: string;
  /** `typed`: copied by hand from a document; `published`: figures of others, whose source `command` names. */
  readonly source: 'typed' | 'program' | 'published';
  readonly plot?: BarPlot | LinePlot;
}

/** One bar per row, as long as the number in one of the columns. */
export interface BarPlot {
  readonly kind: 'bars';
  /** Name of the file in docs/images. */
  readonly file: string;
  /** Index of the column. */
  readonly value: number;
  readonly axis: string;
  readonly scale?: 'log';
}

/** One line per row over all columns but the first, on a logarithmic axis around 1. */
export interface LinePlot {
  readonly kind: 'lines';
  readonly file: string;
  /** Indices of the rows. */
  readonly rows: readonly number[];
  readonly axis: string;
  readonly labels: readonly string[];
}

/** Programs of this name have their rows in bold and their bars in colour. */
export const OURS = /^gloaming\b/;
const MARKED = /<!-- figures: ([a-z0-9-]+) -->\n[\s\S]*?<!-- end of figures -->/g;
const IS_NUMBER = /^[\d.,:]+( (s|min|ms|GB|M))?$/;

/**
 * Returns a page with its tables written anew, each between `<!-- figures: <id> -->` and `<!-- end of figures -->`.
 * Errors  assertion where a table is not among them
 */
export function withTables(page: string, tables: readonly FigureTable[]): string {
  return page.replaceAll(MARKED, (_, id: string) => {
    const table = tables.find((each) => each.id === id);
    assert(table !== undefined, `bench/figures.json has the table ${id}`);
    return `<!-- figures: ${id} -->\n\n${renderTable(table)}\n<!-- end of figures -->`;
  });
}

/** The table in Markdown, below its title and above its origin. */
function renderTable(table: FigureTable): string {
  const { columns, rows, title } = table;
  const isNumber = columns.map(
    (_, at) => at > 0 && rows.every((row) => row[at] === '' || IS_NUMBER.test(row[at] ?? '')),
  );
  const rule = columns.map((_, at) => (isNumber[at] === true ? '---:' : '---')).join(' | ');
  const lines = rows.map((row) => {
    const isOurs = OURS.test(row[0] ?? '');
    return `| ${row.map((cell) => (isOurs && cell !== '' ? `**${cell}**` : cell)).join(' | ')} |`;
  });
  return [
    `**${title}.**\n`,
    `| ${columns.join(' | ')} |`,
    `| ${rule} |`,
    ...lines,
    '',
    `*${originOf(table)}.*\n`,
  ].join('\n');
}

function originOf({ command, machine, date, commit, source }: FigureTable): string {
  if (source === 'published') return `${command}, ${date}`;
  const named = command === 'not recorded' ? 'Command not recorded' : `\`${command}\``;
  return `${named}${machine.startsWith('any') ? '' : `, ${machine}`}, ${date}, commit ${commit}`;
}
