import { EXAMPLE_LARGEST_E, type ExampleName } from '../../src/demo/example.js';
import { PROGRAMS } from './programs.js';

/** A protein that a program finds by an example query. */
export interface Row {
  readonly id: string;
  readonly name: string;
  readonly organism: string;
  readonly family: string | undefined;
  /** By program, this one first; undefined where it does not list the protein. */
  readonly eValues: readonly (number | undefined)[];
}

/** Finds of all queries of one family, by program without rounds, this one first. */
export interface FamilyTotals {
  readonly family: string;
  readonly queryCount: number;
  /** Finds that are named after the same family, and after a different one. */
  readonly counts: readonly { readonly same: number; readonly different: number }[];
}

interface ComparedExample extends ExampleName {
  readonly rows: readonly Row[];
}

interface Comparison {
  readonly examples: readonly ComparedExample[];
  readonly families: readonly FamilyTotals[];
  readonly versions: readonly string[];
  readonly serverVersion: string;
}

const NAMES = ['Gloaming', ...PROGRAMS.map(({ name }) => name)];
const NAMES_WITHOUT_ROUNDS = [
  'Gloaming',
  ...PROGRAMS.filter((each) => !each.hasRounds).map(({ name }) => name),
];
const NAME_MAX_CHARACTERS = 44;

/** Returns the page of the comparison in Markdown. */
export function comparison({ examples, families, versions, serverVersion }: Comparison): string {
  return `<!-- Written by npm run bench -- example. -->

# What each program finds in the demo

All programs search the same 2,000 proteins. A find has E ≤ ${EXAMPLE_LARGEST_E}. Programs of three rounds search again
with a profile of their finds. The others, Gloaming among them, search with the query alone. In the tables of queries,
finds are bold, and a dash means that the program does not list the protein up to E = 10.

${examples.map(sectionOf).join('\n\n')}

## All queries of the remote families

Pairs of proteins that a search with the first one finds, and that UniProt names after the same family. No family was
chosen by these numbers; the first example was, because its finds are remote. Finds that are named after a different
family are in brackets.

${table(
  ['family', 'queries', ...NAMES_WITHOUT_ROUNDS],
  [...families, sumOf(families)].map(({ family, queryCount, counts }) => [
    family,
    String(queryCount),
    ...counts.map(({ same, different }) => `${same} (${different})`),
  ]),
)}

## Commands

\`npm run bench -- example\` wrote this page with Gloaming ${serverVersion}. Commands of the other programs, with
\`E=10\`:

\`\`\`sh
${PROGRAMS.map(({ name, prepare, search }, at) => `# ${name}: ${versions[at]}\n${prepare}\n${search}`).join('\n')}
\`\`\`
`;
}

function sectionOf({ id, title, rows }: ComparedExample): string {
  const each = NAMES.map((name, program) => {
    return `${name} ${rows.filter(({ eValues }) => isFind(eValues[program])).length}`;
  });
  const missed = rows.filter(({ eValues: [ours, blastp] }) => isFind(ours) && !isFind(blastp)).length;
  const lost = rows.filter(({ eValues: [ours, ...others] }) => !isFind(ours) && others.some(isFind)).length;
  return `## ${title.replace(/^./, (first) => first.toUpperCase())}

Finds by ${id}, without the query: ${each.join('; ')}. Gloaming finds ${missed} that BLASTP misses. Other programs find
${lost} that Gloaming misses.

${table(
  ['protein', 'organism', 'name', ...NAMES],
  rows.map(({ id: target, organism, name, eValues }) => [
    `[${target}](https://www.uniprot.org/uniprotkb/${target})`,
    organism.replace(/ \(strain.*$/, ''),
    cut(name),
    ...eValues.map(shown),
  ]),
)}`;
}

function sumOf(families: readonly FamilyTotals[]): FamilyTotals {
  const sum = (valueOf: (totals: FamilyTotals) => number): number =>
    families.reduce((total, each) => total + valueOf(each), 0);
  return {
    family: 'all',
    queryCount: sum(({ queryCount }) => queryCount),
    counts: NAMES_WITHOUT_ROUNDS.map((_, program) => ({
      same: sum(({ counts }) => counts[program].same),
      different: sum(({ counts }) => counts[program].different),
    })),
  };
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

function cut(name: string): string {
  return name.length <= NAME_MAX_CHARACTERS ? name : `${name.slice(0, NAME_MAX_CHARACTERS - 1)}…`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
