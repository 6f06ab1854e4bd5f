import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseFastaHeader } from '../sequence/fasta-header.js';
import { fastaFile, readFasta } from '../sequence/fasta.js';
import { normaliseProtein } from '../sequence/protein.js';
import { examplesFolder } from './demo.js';

/* The first search of a newcomer: a query, and what this program and others find for it among the demo's proteins. */

/** UniProt accession of the query, a protein of the demo: thioredoxin 1 of Escherichia coli. */
export const EXAMPLE_ID = 'P0AA25';
/** Largest E-value of a find. */
export const EXAMPLE_LARGEST_E = 0.001;
/** Table of finds, written by `npm run bench -- example`. Its columns are a protein id and E-values by program. */
export const FINDS_FILE = 'thioredoxin.tsv';
/** Columns of E-values in the table of finds. */
export const FINDS_COLUMNS = ['gloaming', 'blastp', 'psiblast', 'mmseqs', 'mmseqs_3_rounds'] as const;

export interface Example {
  readonly queryFile: string;
  readonly sequence: string;
  /** Ids of the proteins that a search finds with E ≤ EXAMPLE_LARGEST_E, without the query. */
  readonly finds: readonly string[];
}

/** Returns the path of the example query. */
export function exampleFile(packageFolder: string): string {
  return join(examplesFolder(packageFolder), 'thioredoxin.fasta');
}

/** Reads the example. Errors  those of reading its two files */
export async function readExample(packageFolder: string): Promise<Example> {
  const queryFile = exampleFile(packageFolder);
  let sequence = '';
  for await (const { header, text } of readFasta(fastaFile(queryFile))) {
    if (parseFastaHeader(header).id === EXAMPLE_ID) ({ sequence } = normaliseProtein(text));
  }
  const rows = await readFinds(join(examplesFolder(packageFolder), FINDS_FILE));
  return { queryFile, sequence, finds: rows.filter(isFind).map(({ id }) => id) };
}

function isFind({ id, eValue }: FoundRow): boolean {
  return id !== EXAMPLE_ID && eValue !== '' && Number(eValue) <= EXAMPLE_LARGEST_E;
}

interface FoundRow {
  readonly id: string;
  /** Empty if the program does not list the protein. */
  readonly eValue: string;
}

/** Reads the E-values of this program. */
async function readFinds(path: string): Promise<readonly FoundRow[]> {
  const [header, ...lines] = (await readFile(path, 'utf8')).split('\n').filter((line) => /^[^#]/.test(line));
  const names = header.split('\t');
  const [id, eValue] = ['protein', 'gloaming'].map((name) => names.indexOf(name));
  return lines.map((line) => {
    const cells = line.split('\t');
    return { id: cells[id], eValue: cells[eValue] };
  });
}
