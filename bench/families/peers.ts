import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import { searchProfiles, writeDatabase } from '../related-folds/hhsuite.js';
import { writeFasta, type BenchProtein } from '../tools/proteins.js';
import type { BenchFamily } from './select.js';

const run = promisify(execFile);
const MOST_OUTPUT_BYTES = 1 << 28;

/** The best family of a query. */
export interface TopHit {
  readonly family: string;
  /** Undefined without a calibration. */
  readonly eValue?: number;
}

export type TopHits = ReadonlyMap<string, TopHit>;

/** Aligns each family by mafft. Returns paths of aligned FASTA by id. Errors  those of mafft and the file system */
export async function alignFamilies(
  families: readonly BenchFamily[],
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  await mkdir(folder, { recursive: true });
  const paths = new Map<string, string>();
  for (const { id, members } of families) {
    const path = join(folder, `${id}.afa`);
    paths.set(id, path);
    if (existsSync(path)) continue;
    const input = join(folder, `${id}.fasta`);
    await writeFasta(input, members);
    const options = ['--retree', '2', '--maxiterate', '0', '--quiet', '--thread', '1', '--anysymbol', input];
    const { stdout } = await run('mafft', options, { maxBuffer: MOST_OUTPUT_BYTES });
    await writeFile(path, stdout);
  }
  return paths;
}

/**
 * Searches models that hmmbuild makes of the alignments.
 * Errors  those of HMMER and the file system
 * @param flags  of hmmscan; `--max` switches its filters off, which drop P-values above 1e-5
 */
export async function hmmscanHits(
  alignments: ReadonlyMap<string, string>,
  queries: readonly BenchProtein[],
  folder: string,
  flags: readonly string[] = [],
): Promise<TopHits> {
  const database = await buildModels(alignments, folder);
  const [fasta, table] = ['queries.fasta', 'hmmscan.tbl'].map((name) => join(folder, name));
  await writeFasta(fasta, queries);
  await run('hmmscan', [
    '--cpu',
    '0',
    ...flags,
    '--noali',
    '-E',
    '1000',
    '-o',
    '/dev/null',
    '--tblout',
    table,
    database,
    fasta,
  ]);
  return hitsOf(await readFile(table, 'utf8'));
}

/** Makes a database of models by hmmbuild and hmmpress. Returns its path. */
async function buildModels(alignments: ReadonlyMap<string, string>, folder: string): Promise<string> {
  const models: string[] = [];
  for (const [id, path] of alignments) {
    const model = join(folder, `${id}.hmm`);
    await run('hmmbuild', ['--amino', '--cpu', '0', '-n', id, '-o', '/dev/null', model, path]);
    models.push(await readFile(model, 'utf8'));
  }
  const database = join(folder, 'all.hmm');
  await writeFile(database, models.join(''));
  await run('hmmpress', ['-f', database]);
  return database;
}

/**
 * Finds domains by models that hmmbuild makes of the alignments.
 * Errors  those of HMMER and the file system
 * @returns the text of hmmscan's `--domtblout`
 */
export async function hmmscanDomains(
  alignments: ReadonlyMap<string, string>,
  queries: readonly BenchProtein[],
  folder: string,
): Promise<string> {
  const database = await buildModels(alignments, folder);
  const [fasta, table] = ['queries.fasta', 'hmmscan.domtbl'].map((name) => join(folder, name));
  await writeFasta(fasta, queries);
  const output = ['--noali', '-o', '/dev/null', '--domtblout', table];
  await run('hmmscan', ['--cpu', '0', ...output, database, fasta]);
  return readFile(table, 'utf8');
}

/** Searches the members of the families as sequences. Errors  those of HMMER and the file system */
export async function phmmerHits(
  alignments: ReadonlyMap<string, string>,
  queries: readonly BenchProtein[],
  folder: string,
): Promise<TopHits> {
  const members: BenchProtein[] = [];
  for (const [id, path] of alignments) {
    for await (const { text } of readFasta(fastaFile(path)))
      members.push({ id: `${id}/${members.length}`, sequence: text.replaceAll(/[-\s]/g, '').toUpperCase() });
  }
  const [database, fasta, table] = ['members.fasta', 'queries.fasta', 'phmmer.tbl'].map((name) =>
    join(folder, name),
  );
  await writeFasta(database, members);
  await writeFasta(fasta, queries);
  const flags = ['--cpu', '0', '--max', '--noali', '-E', '1000', '-o', '/dev/null', '--tblout', table];
  await run('phmmer', [...flags, fasta, database]);
  return hitsOf(await readFile(table, 'utf8'));
}

/** Best families in a table of HMMER, whose targets are families or `<family>/<member>`. */
function hitsOf(table: string): TopHits {
  const hits = new Map<string, TopHit>();
  for (const line of table.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [target, , query, , eValue] = line.split(/\s+/);
    const [family] = target.split('/');
    const before = hits.get(query)?.eValue;
    if (before === undefined || Number(eValue) < before) hits.set(query, { family, eValue: Number(eValue) });
  }
  return hits;
}

/** Searches profiles that hhmake makes of the alignments. Errors  those of HH-suite and the file system */
export async function hhsearchHits(
  alignments: ReadonlyMap<string, string>,
  queries: readonly BenchProtein[],
  folder: string,
): Promise<TopHits> {
  const profiles = join(folder, 'hhm');
  await mkdir(profiles, { recursive: true });
  const families: BenchProtein[] = [];
  for (const [id, path] of alignments) {
    const profile = join(profiles, `${id}.hhm`);
    await run('hhmake', ['-v', '0', '-M', '50', '-name', id, '-i', path, '-o', profile]);
    const columns = Number(/^LENG\s+(\d+)/m.exec(await readFile(profile, 'utf8'))![1]);
    families.push({ id, sequence: 'A'.repeat(columns) });
  }
  const database = await writeDatabase(families, profiles, join(folder, 'hh'));
  const hits = new Map<string, TopHit>();
  for (const query of queries) {
    const fasta = join(folder, 'query.a3m');
    await writeFasta(fasta, [query]);
    await run('hhmake', ['-v', '0', '-i', fasta, '-o', join(profiles, `${query.id}.hhm`)]);
    const found = await searchProfiles(query.id, profiles, database, join(folder, 'scores'));
    const best = found.toSorted((a, b) => b.bits - a.bits)[0];
    if (best !== undefined)
      hits.set(query.id, { family: best.target, eValue: 2 ** -best.bits * alignments.size });
  }
  return hits;
}
