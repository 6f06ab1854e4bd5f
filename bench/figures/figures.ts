import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { assert } from '../../src/errors.js';
import type { Bench, BenchOutput } from '../main.js';
import { plotsOf } from './plots.js';
import { withTables, type FigureTable } from './tables.js';

/*
 * Keeps the measured figures: bench/figures.json holds the records, bench/README.md shows them as tables. The tables of
 * README.md and docs/ and the plots of docs/images come from the same file.
 *
 *   npm run bench -- figures                                        writes all of these anew
 *   npm run bench -- peers x --json > peers.txt
 *   npm run bench -- figures add peers peers.txt [member …]         records the figures, or those of these members
 *   npm run bench -- figures add growth growth.txt tables           records the tables that the bench returns
 *
 * A record takes its command, machine, date and commit from the output of the bench. A record replaces an earlier one
 * of the same question, name, command and machine.
 */

/** One measured figure and where it comes from. */
export interface FigureRecord {
  readonly question: string;
  readonly what: string;
  /** The measured value with its unit. */
  readonly figure: string;
  readonly command: string;
  readonly machine: string;
  /** yyyy-mm-dd. */
  readonly date: string;
  readonly commit: string;
  /** `typed`: copied by hand from a document, before benches wrote records. */
  readonly source: 'typed' | 'program';
}

/** All records, under questions in the order in which they are shown. */
export interface Figures {
  readonly questions: readonly { readonly question: string; readonly title: string }[];
  readonly records: readonly FigureRecord[];
  readonly tables?: readonly FigureTable[];
}

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const FIGURES_PATH = `${ROOT}bench/figures.json`;
export const README_PATH = `${ROOT}bench/README.md`;
/** Pages with tables of figures. */
const PAGES = [
  'README.md',
  'docs/evidence.md',
  'docs/homologs.md',
  'docs/operate.md',
  'docs/msa.md',
  'docs/clusters.md',
  'docs/families.md',
];
/** Figures that one call of `add` records at most; more are no table that a person reads. */
const ADDED_MAX_COUNT = 40;
/** Of a figure that is no integer. */
const DIGITS = 4;
/** Member of a bench's figures with tables for the manual, which lack only their origin. */
const TABLES = 'tables';
const COLUMNS = ['what', 'figure', 'command', 'machine', 'date', 'commit'] as const;

const HEAD = `# Measured figures

<!-- prettier-ignore-start -->
<!-- Written by \`npm run bench -- figures\` from bench/figures.json; edit neither this page nor its tables. -->

Each folder here answers one question: \`npm run bench -- <question>\` checks the answer, then times it. With \`--json\`
the output ends with one line that \`npm run bench -- figures add <question> <file>\` records with its command, machine,
date and commit. Figures in *italics* are older: they were typed into a document, whose date and commit they have.
"found ÷ claimed" is the number of false hits that were found over the number that the E-values claim; 1 is right.
A share such as .99 is of 1. "Local" counts candidates by their best partial match, "nearest" by MaxSim.
`;

/** `figures` writes the page; `figures add` records the output of a bench first. */
export const run: Bench = async ([verb, question, path, ...members]) => {
  let figures = JSON.parse(readFileSync(FIGURES_PATH, 'utf8')) as Figures;
  if (verb === 'add') {
    assert(question !== undefined && path !== undefined, 'figures add <question> <file> [member …]');
    const output = readFileSync(path, 'utf8');
    const others = members.filter((member) => member !== TABLES);
    if (others.length < members.length) figures = withNewTables(figures, tablesOf(question, output));
    if (others.length > 0 || members.length === 0)
      figures = withRecords(figures, recordsOf(question, output, others));
    writeFileSync(FIGURES_PATH, `${JSON.stringify(figures, null, 2)}\n`);
  }
  for (const [path, text] of writtenFiles(figures)) writeFileSync(path, text);
  return { records: figures.records.length };
};

/** Returns every file that the command writes from the figures, by its path: pages with tables, and plots. */
export function writtenFiles(figures: Figures): ReadonlyMap<string, string> {
  return new Map([
    [README_PATH, renderFigures(figures)],
    ...PAGES.map((page): [string, string] => [
      `${ROOT}${page}`,
      withTables(readFileSync(`${ROOT}${page}`, 'utf8'), figures.tables ?? []),
    ]),
    ...[...plotsOf(figures.tables ?? [])].map(([file, svg]): [string, string] => [
      `${ROOT}docs/images/${file}`,
      svg,
    ]),
  ]);
}

/**
 * Records of a bench's output, one for each number or text in its figures.
 * @param output   what the bench printed; the last line that is not empty is its JSON
 * @param members  dotted names whose figures are recorded; none for all
 * Errors  assertion where the output is of another question, or has no figures, or too many
 */
export function recordsOf(question: string, output: string, members: readonly string[] = []): FigureRecord[] {
  const { figures, command, machine, date, commit } = outputOf(question, output);
  const { [TABLES]: _, ...measured } = figures;
  const leaves = leavesOf(measured).filter(
    ([name]) =>
      members.length === 0 || members.some((member) => name === member || name.startsWith(`${member}.`)),
  );
  assert(leaves.length > 0 && leaves.length <= ADDED_MAX_COUNT, `${leaves.length} figures: name the members`);
  const origin = { command, machine, date, commit, source: 'program' } as const;
  return leaves.map(([what, figure]) => ({ question, what, figure, ...origin }));
}

/**
 * Tables of a bench's output with their origin.
 * Errors  assertion where the output is of another question or has no tables
 */
export function tablesOf(question: string, output: string): readonly FigureTable[] {
  const { figures, ...bench } = outputOf(question, output);
  const tables = figures[TABLES] as readonly FigureTable[] | undefined;
  assert(tables !== undefined && tables.length > 0, `the output of ${question} has tables`);
  return tables.map((table) => ({ ...table, ...bench, source: 'program' }));
}

/** All figures with the new tables in the places of those with the same ids, or behind the others. */
export function withNewTables(figures: Figures, added: readonly FigureTable[]): Figures {
  const { tables = [] } = figures;
  const addedOf = new Map(added.map((table) => [table.id, table]));
  const known = new Set(tables.map(({ id }) => id));
  return {
    ...figures,
    tables: [
      ...tables.map((table) => addedOf.get(table.id) ?? table),
      ...added.filter(({ id }) => !known.has(id)),
    ],
  };
}

/** All figures with the new records in the places of those that they replace. */
export function withRecords(figures: Figures, added: readonly FigureRecord[]): Figures {
  const nameOf = ({ question, what, command, machine }: FigureRecord): string =>
    JSON.stringify([question, what, command, machine]);
  const replaced = new Set(added.map(nameOf));
  const titled = new Set(figures.questions.map(({ question }) => question));
  const untitled = [...new Set(added.map(({ question }) => question))].filter((name) => !titled.has(name));
  return {
    ...figures,
    questions: [...figures.questions, ...untitled.map((question) => ({ question, title: question }))],
    records: [...figures.records.filter((record) => !replaced.has(nameOf(record))), ...added],
  };
}

/** The page: a table for each question that has records. */
export function renderFigures({ questions, records }: Figures): string {
  const sections = questions.flatMap(({ question, title }) => {
    const rows = records.filter((record) => record.question === question).map(rowOf);
    if (rows.length === 0) return [];
    const header = `| ${COLUMNS.join(' | ')} |\n|${'---|'.repeat(COLUMNS.length)}\n`;
    return `## ${question}: ${title}\n\n${header}${rows.join('')}`;
  });
  return `${HEAD}\n${sections.join('\n')}\n<!-- prettier-ignore-end -->\n`;
}

function outputOf(question: string, output: string): BenchOutput {
  const last = output.trimEnd().split('\n').at(-1) ?? '';
  const bench = JSON.parse(last) as BenchOutput;
  assert(bench.question === question, `the output is of the bench ${bench.question}`);
  return bench;
}

function rowOf(record: FigureRecord): string {
  const cells = COLUMNS.map((column) => record[column].replaceAll('|', '\\|'));
  if (record.source === 'typed') cells[1] = `*${cells[1]}*`;
  return `| ${cells.join(' | ')} |\n`;
}

/** Numbers, rounded, and texts of a nested value, each under its dotted name. */
function leavesOf(value: unknown, name = ''): [string, string][] {
  if (value === null || value === undefined) return [];
  if (typeof value === 'number' && !Number.isInteger(value)) return [[name, `${+value.toPrecision(DIGITS)}`]];
  if (typeof value !== 'object') return [[name, String(value)]];
  return Object.entries(value).flatMap(([key, member]) =>
    leavesOf(member, name === '' ? key : `${name}.${key}`),
  );
}
