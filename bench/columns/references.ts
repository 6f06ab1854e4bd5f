import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import { normaliseProtein } from '../../src/sequence/protein.js';
import type { BenchProtein } from '../tools/proteins.js';

/** Pairs of positions, one in each protein, that share a column. */
export type Columns = readonly (readonly [number, number])[];

/** Two proteins of one reference alignment. */
export interface ReferencePair {
  /** BAliBASE's set: RV11 or RV12. */
  readonly set: string;
  readonly first: BenchProtein;
  readonly second: BenchProtein;
  readonly columns: Columns;
  /** Identical residues ÷ aligned pairs of the reference. */
  readonly identity: number;
}

/** Returns all pairs of each aligned FASTA file in the folder. Errors  those of the file system */
export async function readReferencePairs(folder: string, set: string): Promise<readonly ReferencePair[]> {
  const pairs: ReferencePair[] = [];
  const files = readdirSync(join(folder, set)).filter((file) => file.endsWith('.afa'));
  for (const file of files.sort()) {
    const rows: { readonly protein: BenchProtein; readonly text: string }[] = [];
    for await (const { header, text } of readFasta(fastaFile(join(folder, set, file)))) {
      const { sequence } = normaliseProtein(text.replaceAll('-', ''));
      const id = `${basename(file, '.afa')}-${header.split(/\s/)[0].replace(/^>/, '')}`;
      rows.push({ protein: { id, sequence }, text });
    }
    for (const [at, first] of rows.entries()) {
      for (const second of rows.slice(at + 1)) {
        const columns = sharedColumns(first.text, second.text);
        if (columns.length === 0) continue;
        const same = columns.filter(
          ([i, j]) => first.protein.sequence[i] === second.protein.sequence[j],
        ).length;
        const proteins = { first: first.protein, second: second.protein };
        pairs.push({ set, ...proteins, columns, identity: same / columns.length });
      }
    }
  }
  return pairs;
}

/** Share of the reference's aligned residue pairs that the alignment also has, the sum-of-pairs score. Range  0..1 */
export function recovery(columns: Columns, reference: Columns): number {
  const partner = new Map(columns);
  return reference.filter(([i, j]) => partner.get(i) === j).length / reference.length;
}

/** Share of the alignment's pairs that are in the reference. Range  0..1; 0 for an empty alignment */
export function precision(columns: Columns, reference: Columns): number {
  return columns.length === 0 ? 0 : recovery(reference, columns);
}

function sharedColumns(first: string, second: string): Columns {
  const columns: [number, number][] = [];
  let [i, j] = [0, 0];
  for (let column = 0; column < first.length; column += 1) {
    const [hasFirst, hasSecond] = [first[column] !== '-', second[column] !== '-'];
    if (hasFirst && hasSecond) columns.push([i, j]);
    i += hasFirst ? 1 : 0;
    j += hasSecond ? 1 : 0;
  }
  return columns;
}

const STEP = /(\d+)([M=XID])/g;

/** Columns of a CIGAR in which both proteins have a residue. */
export function cigarColumns(firstStart: number, secondStart: number, cigar: string): Columns {
  const columns: [number, number][] = [];
  let [i, j] = [firstStart, secondStart];
  for (const [, digits, operation] of cigar.matchAll(STEP)) {
    const length = Number(digits);
    const isPair = operation !== 'I' && operation !== 'D';
    if (isPair) for (let step = 0; step < length; step += 1) columns.push([i + step, j + step]);
    if (operation !== 'D') i += length;
    if (operation !== 'I') j += length;
  }
  return columns;
}
