import { EXAMPLE_LARGEST_E } from '../../src/demo/example.js';
import { PROGRAMS } from './programs.js';

/** A protein that a program finds by the example query. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly organism: string;
  readonly family: string | undefined;
  /** By program, this one first; undefined where it does not list the protein. */
  readonly eValues: readonly (number | undefined)[];
}

/** Counts of finds of one query by program, this one first. */
export interface Summary {
  readonly id: string;
  readonly name: string;
  readonly family: string;
  readonly counts: readonly { readonly named: number; readonly others: number }[];
}

interface Comparison {
  readonly rows: readonly Row[];
  readonly summaries: readonly Summary[];
  readonly versions: readonly string[];
  readonly serverVersion: string;
}

const NAMES = ['Gloaming', ...PROGRAMS.map(({ name }) => name)];
const NAME_MAX_CHARACTERS = 44;

/** Returns the page of the comparison in Markdown. */
export function comparison({ rows, summaries, versions, serverVersion }: Comparison): string {
  const counts = NAMES.map((_, program) => rows.filter(({ eValues }) => isFind(eValues[program])).length);
  const missed = rows.filter(({ eValues: [ours, blastp] }) => isFind(ours) && !isFind(blastp));
  const lost = rows.filter(({ eValues: [ours, ...others] }) => !isFind(ours) && others.some(isFind));
  return `<!-- Written by npm run bench -- example. -->

# Thioredoxin of E. coli in the demo: what each program finds

${sentence(counts, missed, lost)}

A number is an E-value. Bold numbers are finds: E ≤ ${EXAMPLE_LARGEST_E}. A dash means that the program does not list
the protein up to E = 10. Programs of three rounds search again with a profile of their finds; the others, Gloaming
among them, search with the query alone.

${table(
  ['protein', 'organism', 'name', ...NAMES],
  rows.map(({ id, organism, name, eValues }) => [
    `[${id}](https://www.uniprot.org/uniprotkb/${id})`,
    genusOf(organism),
    cut(name),
    ...eValues.map(shown),
  ]),
)}

## Other queries of the demo

Finds with E ≤ ${EXAMPLE_LARGEST_E} that UniProt names after the query's family, and behind the plus sign all other
finds. A name does not decide: a family has members with other names, and some finds are false.

${table(
  ['query', 'name', 'family', ...NAMES],
  summaries.map(({ id, name, family, counts: found }) => [
    id,
    cut(name),
    family,
    ...found.map(({ named, others }) => `${named} + ${others}`),
  ]),
)}

## Commands

\`npm run bench -- example\` wrote this page with Gloaming ${serverVersion}. The targets are the 2,000 proteins of
\`proteins.fasta.gz\`. Commands of the other programs, with \`E=10\`:

\`\`\`sh
${PROGRAMS.map(({ name, prepare, search }, at) => `# ${name}: ${versions[at]}\n${prepare}\n${search}`).join('\n')}
\`\`\`
`;
}

function sentence(counts: readonly number[], missed: readonly Row[], lost: readonly Row[]): string {
  const each = NAMES.map((name, program) => `${name} ${counts[program]}`).join('; ');
  const named = missed.filter(({ family }) => family === 'thioredoxin fold').length;
  return (
    `Proteins found with E ≤ ${EXAMPLE_LARGEST_E}, without the query: ${each}. ` +
    `Gloaming finds ${missed.length} that BLASTP misses. UniProt names ${named} of these after a protein of the ` +
    `thioredoxin fold. Other programs find ${lost.length} that Gloaming misses.`
  );
}

function isFind(e: number | undefined): boolean {
  return e !== undefined && e <= EXAMPLE_LARGEST_E;
}

function shown(e: number | undefined): string {
  if (e === undefined) return '–';
  const text =
    e === 0 ? '0' : e >= 0.01 ? String(Number(e.toPrecision(2))) : e.toExponential(0).replace('e-', 'e−');
  return isFind(e) ? `**${text}**` : text;
}

function genusOf(organism: string): string {
  return organism.replace(/ \(strain.*$/, '');
}

function cut(name: string): string {
  return name.length <= NAME_MAX_CHARACTERS ? name : `${name.slice(0, NAME_MAX_CHARACTERS - 1)}…`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
