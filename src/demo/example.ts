import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseFastaHeader } from '../sequence/fasta-header.js';
import { fastaFile, readFasta } from '../sequence/fasta.js';
import { normaliseProtein } from '../sequence/protein.js';
import { examplesFolder } from './demo.js';

/* The first search of a newcomer: a query, and what this program and others find for it among the demo's proteins. */

/** An example query. Its files are `<name>.fasta`, and `<name>.tsv` with what programs find. */
export interface ExampleName {
  readonly name: string;
  /** UniProt accession of the query, a protein of the demo. */
  readonly id: string;
  /** For sentences. */
  readonly title: string;
}

/** The first one is printed at a first start: most of its finds are missed by programs that compare letters. */
export const EXAMPLES: readonly [ExampleName, ...ExampleName[]] = [
  { name: 'hub1', id: 'A0A509ATW6', title: 'ubiquitin-like HUB1 of a malaria parasite' },
  { name: 'thioredoxin', id: 'P0AA25', title: 'thioredoxin 1 of E. coli' },
];
/** Largest E-value of a find. */
export const EXAMPLE_LARGEST_E = 0.001;
/** Columns of E-values in a table of finds, which `npm run bench -- example` writes. */
export const FINDS_COLUMNS = ['gloaming', 'blastp', 'psiblast', 'mmseqs', 'mmseqs_3_rounds'] as const;

export interface Example extends ExampleName {
  readonly queryFile: string;
  readonly sequence: string;
  /** Ids of the proteins that a search finds with E ≤ EXAMPLE_LARGEST_E, without the query. */
  readonly finds: readonly string[];
  /** Number of these proteins that BLASTP finds with E ≤ EXAMPLE_LARGEST_E in the same proteins. */
  readonly blastpCount: number;
}

/** Reads an example, by default the first. Errors  those of reading its two files */
export async function readExample(packageFolder: string, example = EXAMPLES[0]): Promise<Example> {
  const folder = examplesFolder(packageFolder);
  const queryFile = join(folder, `${example.name}.fasta`);
  let sequence = '';
  for await (const { header, text } of readFasta(fastaFile(queryFile))) {
    if (parseFastaHeader(header).id === example.id) ({ sequence } = normaliseProtein(text));
  }
  const rows = await readFinds(join(folder, `${example.name}.tsv`));
  const own = rows.filter(({ gloaming }) => isFind(gloaming));
  const blastpCount = own.filter(({ blastp }) => isFind(blastp)).length;
  return { ...example, queryFile, sequence, finds: own.map(({ id }) => id), blastpCount };
}

/** @param eValue empty if the program does not list the protein */
function isFind(eValue: string): boolean {
  return eValue !== '' && Number(eValue) <= EXAMPLE_LARGEST_E;
}

/** Reads the E-values of this program and of BLASTP. */
async function readFinds(path: string): Promise<readonly Record<'id' | 'gloaming' | 'blastp', string>[]> {
  const [header, ...lines] = (await readFile(path, 'utf8')).split('\n').filter((line) => /^[^#]/.test(line));
  const names = header.split('\t');
  const [id, gloaming, blastp] = ['protein', 'gloaming', 'blastp'].map((name) => names.indexOf(name));
  return lines.map((line) => {
    const cells = line.split('\t');
    return { id: cells[id], gloaming: cells[gloaming], blastp: cells[blastp] };
  });
}
