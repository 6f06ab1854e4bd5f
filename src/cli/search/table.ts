import { eValueOf } from '../../pipelines/search.js';
import { servesQueries } from '../../release/release.js';
import { explainEmptySelection } from '../../release/filter/near.js';
import type { Candidate } from '../../pipelines/search.js';
import { drawAlignment } from './alignment.js';
import { formatCount, formatDistance, formatEValue, formatPercent } from '../terminal/numbers.js';
import {
  alignmentOf,
  attributeText,
  type Layout,
  type SearchOutput,
  type SearchReport,
  targetId,
} from './report.js';
import { printable } from '../../printable.js';
import { describeLeftOut, describeOrder } from '../terminal/selection.js';
import { formatTable } from '../terminal/table.js';

/** A column of the table. Text columns are cut or dropped on a narrow line, in this order. */
interface TableColumn {
  readonly name: string;
  readonly isNumber: boolean;
  /** Narrowest width that the column may be cut to; absent = never cut. */
  readonly least?: number;
  readonly cell: (candidate: Candidate) => string;
}

const GAP = 2;
/** Column in which the values of the head start. */
const HEAD_MARGIN = 10;
/** A narrower text is uninformative, so its column is dropped. */
const TEXT_MIN = 16;
const TEXT_MAX = 48;

/** A human-readable table: for each query the searched database, its candidates, and notes about them. */
export async function* formatTables(reports: AsyncIterable<SearchReport>, layout: Layout): SearchOutput {
  let isFirst = true;
  for await (const report of reports) {
    if (!isFirst) yield '\n';
    isFirst = false;
    yield `${headOf(report, layout)}\n`;
    const { candidates } = report.result;
    if (candidates.length > 0) yield `${drawTable(report, layout)}\n`;
    yield layout.style.dim(footOf(report, layout));
    if (!layout.hasAlignments) continue;
    for (const [index, candidate] of candidates.entries())
      yield `\n${drawAlignment(report, candidate, index + 1, layout)}`;
  }
}

function headOf({ query, result, release, database, targetSpace }: SearchReport, layout: Layout): string {
  const { title, counts, is_simulated: isSimulated } = release.manifest;
  const { searchedTargetCount, eligible } = targetSpace;
  const searched = formatCount(searchedTargetCount);
  const passing =
    eligible === undefined
      ? `${searched} proteins`
      : `${searched} of ${formatCount(counts.targets)} proteins pass the filter`;
  const done = result.policy.isExhaustive
    ? ', all of them compared'
    : ', all of them looked at, the nearest compared in full';
  const population = passing + (searchedTargetCount > 0 ? done : '');
  const about = `${formatCount(query.sequence.length)} residues  ${query.description ?? ''}`.trimEnd();
  const named = title === database.slug ? '' : `  ${printable(title)}`;
  const left = layout.columns - HEAD_MARGIN - query.id.length - GAP;
  const head = printable(cut(about, Math.max(TEXT_MIN, left)));
  return [
    `Query     ${layout.style.bold(printable(query.id))}  ${head}\n`,
    `Database  ${database.slug}${named}${isSimulated ? ' (simulated, not real)' : ''}\n`,
    `          ${population}\n`,
  ].join('');
}

function drawTable(report: SearchReport, layout: Layout): string {
  const { candidates } = report.result;
  const columns = fitting(columnsOf(report), candidates, layout.columns);
  const rows = candidates.map((candidate) => columns.map((column) => column.cell(candidate)));
  const numbers = new Set(columns.flatMap((column, index) => (column.isNumber ? [index] : [])));
  const table = formatTable(
    columns.map(({ name }) => name),
    rows,
    numbers,
  );
  const end = table.indexOf('\n');
  return `${layout.style.bold(table.slice(0, end))}${table.slice(end)}`;
}

function columnsOf(report: SearchReport): TableColumn[] {
  const { candidates } = report.result;
  const number = (name: string, cell: TableColumn['cell']): TableColumn => ({ name, isNumber: true, cell });
  const text = (name: string, field: string): TableColumn => ({
    name,
    isNumber: false,
    least: TEXT_MIN,
    cell: (candidate) => attributeText(report, candidate, field),
  });
  const aligned = (
    value: (alignment: NonNullable<Candidate['alignment']>) => number,
  ): TableColumn['cell'] => {
    return (candidate) => {
      const alignment = alignmentOf(candidate);
      return alignment === undefined ? '–' : formatPercent(value(alignment));
    };
  };
  const columns: TableColumn[] = [
    placeColumn(report),
    { name: 'target', isNumber: false, cell: (candidate) => targetId(report, candidate) },
    text('organism', 'organism'),
    text('name', 'name'),
    number('distance', ({ maxsim }) => formatDistance(maxsim.bidirectional)),
    number('score', ({ affine }) => String(affine.rawScore)),
  ];
  if (candidates.some((candidate) => eValueOf(candidate) !== undefined)) {
    columns.push(
      number('E-value', (candidate) => {
        const { significance } = candidate;
        return significance.kind === 'supported' ? formatEValue(significance.logEValue) : '–';
      }),
    );
  }
  if (report.request.probability === 'required') {
    columns.push(
      number('P', ({ significance }) => {
        const probability = significance.kind === 'supported' ? significance.homologyProbability : undefined;
        return probability?.toFixed(2) ?? '–';
      }),
    );
  }
  if (candidates.some(({ alignment }) => alignment !== undefined)) {
    columns.push(
      number(
        'coverage',
        aligned((alignment) => alignment.queryCoverageRatio),
      ),
    );
    columns.push(
      number(
        'identity',
        aligned((alignment) => alignment.sequenceIdentityRatio),
      ),
    );
  }
  return columns.filter(
    ({ least, cell }) => least === undefined || candidates.some((each) => cell(each) !== ''),
  );
}

/** The rank by distance, or in another order, in which ranks would jump, the place in the list. */
function placeColumn({ sort, result }: SearchReport): TableColumn {
  if (sort === 'rank') return { name: 'rank', isNumber: true, cell: ({ rank }) => String(rank) };
  const places = new Map(result.candidates.map((candidate, index) => [candidate, index + 1]));
  return { name: 'no.', isNumber: true, cell: (candidate) => String(places.get(candidate)) };
}

/** The columns with their texts cut to the available width. The last one is dropped if too little is left. */
function fitting(
  columns: readonly TableColumn[],
  candidates: readonly Candidate[],
  width: number,
): TableColumn[] {
  const widthOf = ({ name, cell }: TableColumn): number =>
    Math.max(name.length, ...candidates.map((candidate) => cell(candidate).length));
  const texts = columns.filter(({ least }) => least !== undefined);
  const fixed = columns.filter(({ least }) => least === undefined);
  const fixedWidth = fixed.reduce((sum, column) => sum + widthOf(column) + GAP, -GAP);
  const left = width - fixedWidth - GAP * texts.length;
  if (texts.length > 0 && left < TEXT_MIN * texts.length) {
    const [dropped] = texts.slice(-1);
    return fitting(
      columns.filter((column) => column !== dropped),
      candidates,
      width,
    );
  }
  const widths = shareOut(
    texts.map((column) => Math.min(TEXT_MAX, widthOf(column))),
    left,
  );
  return columns.map((column) => {
    const index = texts.indexOf(column);
    return index < 0
      ? column
      : { ...column, cell: (candidate) => cut(column.cell(candidate), widths[index]) };
  });
}

/**
 * Gives each column its desired width if all fit. Otherwise small widths are met and the others share the rest evenly.
 */
function shareOut(wishes: readonly number[], total: number): number[] {
  const widths = wishes.map(() => 0);
  let rest = total;
  const order = wishes.map((_, index) => index).sort((left, right) => wishes[left] - wishes[right]);
  for (const [done, index] of order.entries()) {
    widths[index] = Math.min(wishes[index], Math.floor(rest / (order.length - done)));
    rest -= widths[index];
  }
  return widths;
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1).trimEnd()}…`;
}

/** Says of how many proteins the shown ones were chosen. */
function describeListed({ result, targetSpace, chosenFromCount }: SearchReport, foundCount: number): string {
  const { candidates, isResultLimitReached, policy } = result;
  const count = formatCount(foundCount);
  const searched = formatCount(targetSpace.searchedTargetCount);
  if (chosenFromCount !== undefined && chosenFromCount > candidates.length) {
    return `The best ${count} of the nearest ${formatCount(chosenFromCount)} of ${searched}; --limit shows more.`;
  }
  if (!isResultLimitReached) return `All ${count} were looked at.`;
  // An approximate policy lists the best evidence of what it measures.
  const listed = policy.isExhaustive ? `nearest ${count}` : `${count} with the best evidence`;
  return `The ${listed} of ${searched}; --limit looks at more.`;
}

function footOf(report: SearchReport, { isTerminal, manual }: Layout): string {
  const { result, request, targetSpace, sort, leftOutCount, release } = report;
  const { candidates } = result;
  const foundCount = candidates.length + leftOutCount;
  if (foundCount === 0) {
    const hints = explainEmptySelection(targetSpace.canonicalFilter, release);
    return ['No protein passes the filter, so nothing was compared.', ...hints, ''].join('\n');
  }
  const { hasEValues = candidates.some((candidate) => eValueOf(candidate) !== undefined) } = report;
  const lines = [
    describeListed(report, foundCount),
    ...[describeLeftOut(leftOutCount, foundCount)].filter((line) => line !== ''),
    describeOrder(sort, hasEValues),
    'A distance of 0 is the same protein; near does not mean homologous.',
  ];
  lines.push(...homologLines(report));
  const { sampled } = result.policy;
  if (sampled?.usesCodebook === true) {
    lines.push('Codes were looked up first. Measured here, that', `${sampled.losses}.`);
  }
  const remedy = isTerminal ? ` See ${manual}operate#no-e-values` : '';
  if (report.unsupported !== undefined) lines.push(`${report.unsupported}${remedy}`);
  else if (request.significance !== 'not_requested' && !hasEValues)
    lines.push(`No E-values: this release has no qualified calibration.${remedy}`);
  if (request.databaseSize !== undefined && hasEValues) {
    lines.push(
      `The E-values are those of a database of ${formatCount(request.databaseSize)} proteins (--database-size).`,
    );
  }
  if (isTerminal) lines.push(`What the columns mean: ${manual}numbers (while the server runs)`);
  return lines.map((line) => `${line}\n`).join('');
}

/** Says what the query was compared with, in a database whose targets have homologs. */
function homologLines({ result, release, query }: SearchReport): readonly string[] {
  const { relatives: homologs } = result;
  if (homologs === undefined) return [];
  const count = formatCount(homologs.count);
  if (query.homologSet !== undefined)
    return [`The query is a family, compared with ${count} of its members.`];
  const { background } = release.manifest.relatives ?? {};
  if (background !== undefined && !servesQueries(background)) {
    return ['The query was compared as a single sequence: only the targets of this database have homologs.'];
  }
  return [`The query was compared with its homologs: ${count} were found.`];
}
