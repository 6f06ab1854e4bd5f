import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '../../src/errors.js';
import type { Rules } from '../msa/mmseqs.js';
import { readAlignments, writeEntries, type Entry } from '../related-folds/hhsuite.js';
import { isOnPath } from '../tools/homology-peers.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';
import type { Columns } from './references.js';

/*
 * Rows of hhblits. Its database has a profile for each cluster of the proteins, as UniClust30 has: at least 30 %
 * identity over 80 % of both proteins. Each process has one thread.
 */

const run = promisify(execFile);
const CLUSTERS = ['--min-seq-id', '0.3', '-c', '0.8', '--threads', '1', '-v', '1'];
const STATES = ['-f', '-x', '0.3', '-c', '4', '-I', 'a3m', '-b'];
const MAX_OUTPUT_BYTES = 1 << 28;
/** Where Debian puts HH-suite's data and programs. Its script `cstranslate` (3.3.0+ds-7+b2) finds no program. */
const DATA = process.env.HHLIB ?? '/usr/share/hhsuite';
const DEBIAN_TRANSLATOR = '/usr/libexec/hhsuite/cstranslate-plain';

type Bounds = Pick<Rules, 'maxEvalue' | 'minCoverage' | 'rounds'>;

/**
 * Searches each protein among all with hhblits. Of several rows of one protein, the one with most columns counts.
 * @returns columns of the rows of each query, by the id of the row's protein; undefined if a program is missing
 * Errors  those of mmseqs, HH-suite and the file system
 */
export async function alignWithHhblits(
  queries: readonly BenchProtein[],
  all: readonly BenchProtein[],
  { maxEvalue, minCoverage, rounds }: Bounds,
  folder: string,
): Promise<readonly ReadonlyMap<string, Columns>[] | undefined> {
  const translator = existsSync(DEBIAN_TRANSLATOR) ? DEBIAN_TRANSLATOR : 'cstranslate';
  const areThere = await Promise.all(['mmseqs', 'hhblits', translator].map(isOnPath));
  if (areThere.includes(false)) return undefined;
  const place = join(folder, 'hhblits');
  await mkdir(place, { recursive: true });
  const at = (name: string): string => join(place, name);
  await writeDatabase(all, translator, at);
  const sequences = new Map(all.map(({ id, sequence }) => [id, sequence]));
  const bounds = ['-n', String(rounds), '-e', String(maxEvalue), '-all', '-cpu', '1', '-v', '1'];
  const rows: ReadonlyMap<string, Columns>[] = [];
  for (const query of queries) {
    await writeFasta(at('query.fasta'), [query]);
    const files = ['-i', at('query.fasta'), '-d', at('db'), '-oa3m', at('rows.a3m'), '-o', '/dev/null'];
    await run('hhblits', [...files, ...bounds]);
    const found = columnsOfA3m(await readFile(at('rows.a3m'), 'utf8'), sequences);
    const least = minCoverage * query.sequence.length;
    rows.push(new Map([...found].filter(([, { length }]) => length >= least)));
  }
  return rows;
}

async function writeDatabase(
  all: readonly BenchProtein[],
  translator: string,
  at: (name: string) => string,
): Promise<void> {
  await writeFasta(at('all.fasta'), all);
  await run('mmseqs', ['createdb', at('all.fasta'), at('all'), '-v', '1']);
  await run('mmseqs', ['cluster', at('all'), at('clusters'), at('scratch'), ...CLUSTERS]);
  const files = [at('all'), at('all'), at('clusters'), at('msa')];
  await run('mmseqs', ['result2msa', ...files, '--msa-format-mode', '5', '--threads', '1', '-v', '1']);
  const texts = [...(await readAlignments(at('msa')))];
  await writeEntries(
    at('db_a3m'),
    texts.map(([name, text]): Entry => [name, Buffer.from(text)]),
  );
  const libraries = ['-A', join(DATA, 'data', 'cs219.lib'), '-D', join(DATA, 'data', 'context_data.lib')];
  const states = ['-i', at('db_a3m'), '-o', at('db_cs219')];
  // It prints a line for each entry.
  await run(translator, [...STATES, ...states, ...libraries], { maxBuffer: MAX_OUTPUT_BYTES });
}

/** HH-suite writes X for other letters than the twenty amino acids. */
function usual(letters: string): string {
  return letters.replaceAll(/[^ACDEFGHIKLMNPQRSTVWY]/g, 'X');
}

/**
 * Columns of the rows of an A3M file, whose first row is the query's. A row's first word is the id of its protein, and
 * its letters are a stretch of that.
 */
export function columnsOfA3m(
  text: string,
  sequences: ReadonlyMap<string, string>,
): ReadonlyMap<string, Columns> {
  const rows = new Map<string, Columns>();
  const [, ...others] = text.split(/^>/m).filter((row) => /\S/.test(row) && !row.startsWith('#'));
  for (const row of others) {
    const [header, ...lines] = row.split('\n');
    const id = header.split(/\s/, 1)[0];
    const letters = lines.join('');
    const residues = usual(letters.replaceAll('-', '').toUpperCase());
    const start = usual(sequences.get(id) ?? '').indexOf(residues);
    assert(start >= 0, `${id} has the letters of its row`);
    const columns: [number, number][] = [];
    let [i, j] = [0, start];
    for (const letter of letters) {
      const isInsertion = letter >= 'a' && letter <= 'z';
      if (letter !== '-' && !isInsertion) columns.push([i, j]);
      if (!isInsertion) i += 1;
      if (letter !== '-') j += 1;
    }
    if (columns.length > (rows.get(id)?.length ?? 0)) rows.set(id, columns);
  }
  return rows;
}
