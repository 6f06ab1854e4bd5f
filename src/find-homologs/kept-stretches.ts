import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Fault } from '../errors.js';
import { runLengths } from '../homologs/aligned-row.js';
import type { FoundHomolog } from '../homologs/homolog-set.js';
import { cigarRuns, spanOf } from '../sequence/cigar.js';

/*
 * A database of alignments that mmseqs wrote, with shorter alignments: the next round makes its profiles of these. Each
 * query has an entry, and each hit a line: key, score, identity, E-value, then first residue, last residue and length
 * in the query and in the target, and the CIGAR. Positions are zero-based, with inclusive ends.
 */

const [QUERY_START, QUERY_END, TARGET_START, TARGET_END, CIGAR] = [4, 5, 7, 8, 10];

/** A hit as mmseqs aligned it, and as it enters a profile; undefined if nothing of it is left. */
export interface KeptStretch {
  readonly found: FoundHomolog;
  readonly kept: FoundHomolog | undefined;
}

/**
 * Writes a copy of a result whose alignments are the kept stretches.
 * @param result   path of the database of alignments
 * @param lookup   path of the list of the queries' keys and names, `q` and their index
 * @param written  path of the copy
 * @param hits     hits of each query, in the order of the result
 * Errors  Fault where a hit is not that of the result; errors of the file system
 */
export async function writeKeptStretches(
  result: string,
  lookup: string,
  written: string,
  hits: readonly (readonly KeptStretch[])[],
): Promise<void> {
  const names = new Map(linesOf(await readFile(lookup, 'utf8')).map((line) => [line[0], line[1]]));
  const data = await readParts(result);
  const [entries, index]: [string[], string[]] = [[], []];
  let offset = 0;
  for (const [key, start, length] of linesOf(await readFile(`${result}.index`, 'utf8'))) {
    // An entry ends with a zero byte.
    const lines = linesOf(data.toString('latin1', Number(start), Number(start) + Number(length) - 1));
    const ofQuery = hits[Number(names.get(key)?.slice(1))] ?? [];
    if (lines.length !== ofQuery.length) throw different(result);
    const text = `${lines.map((cells, at) => keptLine(cells, ofQuery[at], result)).join('')}\0`;
    entries.push(text);
    index.push(`${key}\t${offset}\t${text.length}\n`);
    offset += text.length;
  }
  await writeFile(written, entries.join(''), 'latin1');
  await writeFile(`${written}.index`, index.join(''));
  await copyFile(`${result}.dbtype`, `${written}.dbtype`);
}

function linesOf(text: string): readonly (readonly string[])[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'));
}

/** Reads the data of a database: one file, or one for each thread. */
async function readParts(path: string): Promise<Buffer> {
  const name = basename(path);
  const parts = (await readdir(dirname(path)))
    .filter(
      (file) => file === name || (file.startsWith(`${name}.`) && /^\d+$/.test(file.slice(name.length + 1))),
    )
    .sort((a, b) => Number(a.slice(name.length + 1)) - Number(b.slice(name.length + 1)));
  return Buffer.concat(await Promise.all(parts.map((part) => readFile(join(dirname(path), part)))));
}

function keptLine(cells: readonly string[], { found, kept }: KeptStretch, result: string): string {
  const places = [cells[QUERY_START], cells[TARGET_START]].map(Number);
  if (places[0] !== found.start || places[1] !== found.targetStart) throw different(result);
  if (kept === undefined) return '';
  if (kept === found) return `${cells.join('\t')}\n`;
  const runs = cigarRuns(kept.cigar);
  const span = spanOf(runs);
  const pairsAndGaps = runs.map(({ operation, length }) =>
    (operation === '=' || operation === 'X' ? 'M' : operation).repeat(length),
  );
  const shorter = [...cells];
  shorter[QUERY_START] = String(kept.start);
  shorter[QUERY_END] = String(kept.start + span.query - 1);
  shorter[TARGET_START] = String(kept.targetStart);
  shorter[TARGET_END] = String(kept.targetStart + span.target - 1);
  shorter[CIGAR] = runLengths(pairsAndGaps.join(''));
  return `${shorter.join('\t')}\n`;
}

function different(result: string): Fault {
  return new Fault(`mmseqs wrote other alignments into ${basename(result)} than into its table.`);
}
