import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Fault, ifAbsent, Refusal } from '../errors.js';
import { checkSlug } from '../release/catalog.js';
import { putFolder, replaceFile } from '../files.js';
import { findKeptIndex, indexBytes } from './kept-index.js';
import { mmseqsVersion, runMmseqs } from './mmseqs-process.js';

/*
 * Homolog sources for mmseqs: folders `<indexes>/backgrounds/<name>/` with background.json and the files of an mmseqs
 * database. They have no tokens, so hundreds of millions of sequences fit on a disk that is too small for a release.
 */

/** Content of background.json. */
export interface StoredHomologSource {
  readonly format: typeof CARD_FORMAT;
  readonly name: string;
  /** SHA-256 of the concatenated FASTA files, in hexadecimal. */
  readonly sha256: string;
  readonly sequences: number;
  /** Version of mmseqs that created the database. */
  readonly mmseqs_version: string;
}

const CARD_FILE = 'background.json';
const CARD_FORMAT = 'gloaming-background/1';
const DATABASE = 'db';

/** Returns the folder of all homolog sources. */
export function homologSourcesFolder(indexesFolder: string): string {
  return join(indexesFolder, 'backgrounds');
}

/** Returns the path of the mmseqs database of a homolog source. */
export function homologSourceDatabase(indexesFolder: string, name: string): string {
  return join(homologSourcesFolder(indexesFolder), name, DATABASE);
}

/**
 * Reads the card of a homolog source; undefined if there is none with this name.
 * Errors  Refusal `invalid_slug`; Fault for a damaged card; errors of the file system other than ENOENT
 */
export async function findHomologSource(
  indexesFolder: string,
  name: string,
): Promise<StoredHomologSource | undefined> {
  const path = join(homologSourcesFolder(indexesFolder), checkSlug(name), CARD_FILE);
  const text = await readFile(path, 'utf8').catch(ifAbsent(undefined));
  return text === undefined ? undefined : cardIn(text, path);
}

/** Errors  Fault that names the file and what to do */
function cardIn(text: string, path: string): StoredHomologSource {
  let cause: unknown;
  try {
    const card = JSON.parse(text) as Partial<StoredHomologSource> | null;
    const isCard =
      card?.format === CARD_FORMAT &&
      [card.name, card.sha256, card.mmseqs_version].every((member) => typeof member === 'string') &&
      Number.isSafeInteger(card.sequences);
    if (isCard) return card as StoredHomologSource;
  } catch (error) {
    cause = error;
  }
  throw new Fault(
    `The card ${path} of a homolog source is damaged. Put it back from a copy, or delete its folder and make the ` +
      'source again with "gloaming homolog-source add".',
    { cause },
  );
}

/**
 * Returns the names of the homolog sources that searches index anew each time, though they are large enough to have
 * indexes for the installed mmseqs. None if mmseqs is not installed.
 * Errors  none: a folder that is no homolog source is left out
 */
export async function listUnindexedSources(indexesFolder: string): Promise<readonly string[]> {
  const names = await readdir(homologSourcesFolder(indexesFolder)).catch(() => []);
  const sources = names.filter((name) => !name.startsWith('.')).sort();
  const version = sources.length === 0 ? undefined : await mmseqsVersion();
  if (version === undefined) return [];
  const unindexed: string[] = [];
  for (const name of sources) {
    const database = homologSourceDatabase(indexesFolder, name);
    const size = await stat(database).then(
      (status) => status.size,
      () => 0,
    );
    if (indexBytes(size) === 0) continue;
    if ((await findKeptIndex(database, version)) === undefined) unindexed.push(name);
  }
  return unindexed;
}

/**
 * Estimates the size of a homolog source from the size of its FASTA files. mmseqs stores letters and headers
 * uncompressed, with an index.
 * Errors  errors of the file system
 */
export async function estimateHomologSource(fasta: readonly string[]): Promise<{ readonly bytes: number }> {
  let bytes = 0;
  for (const path of fasta) bytes += (await stat(path)).size * (path.endsWith('.gz') ? GZIP_RATIO : 1);
  return { bytes: Math.ceil(bytes * DATABASE_RATIO) };
}

/** Typical compression ratio of protein sequences. */
const GZIP_RATIO = 2;
const DATABASE_RATIO = 1.1;

/**
 * Creates a homolog source from FASTA files, plain or gzip.
 * Errors  Refusal `background_exists`, `tool_missing`, `invalid_slug`; Fault where mmseqs cannot read the files or a
 *         card of this name is damaged; errors of the file system; the signal's reason
 */
export async function addHomologSource(
  indexesFolder: string,
  name: string,
  fasta: readonly string[],
  signal?: AbortSignal,
): Promise<StoredHomologSource> {
  const folder = join(homologSourcesFolder(indexesFolder), checkSlug(name));
  if ((await findHomologSource(indexesFolder, name)) !== undefined) {
    throw new Refusal('background_exists', `The homolog source ${name} already exists in ${folder}.`);
  }
  await requireNoFiles(folder);
  const version = await mmseqsVersion();
  if (version === undefined) await runMmseqs(['version'], { signal });
  await mkdir(homologSourcesFolder(indexesFolder), { recursive: true });
  const scratch = await mkdtemp(join(homologSourcesFolder(indexesFolder), '.adding-'));
  try {
    const database = join(scratch, DATABASE);
    // mmseqs would read a path that begins with a dash as an option.
    const files = fasta.map((path) => (path.startsWith('-') ? `./${path}` : path));
    await runMmseqs(['createdb', ...files, database, '-v', '1'], { signal });
    const card: StoredHomologSource = {
      format: CARD_FORMAT,
      name,
      sha256: await digestOf(fasta),
      sequences: await countLines(`${database}.lookup`),
      mmseqs_version: version ?? '',
    };
    await replaceFile(join(scratch, CARD_FILE), `${JSON.stringify(card, undefined, 2)}\n`);
    await putFolder(scratch, folder);
    return card;
  } catch (cause) {
    await rm(scratch, { recursive: true, force: true });
    throw cause;
  }
}

/** Errors  Refusal `background_exists` for a folder with files, which the new source could not replace */
async function requireNoFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(ifAbsent([]));
  if (names.length === 0) return;
  throw new Refusal(
    'background_exists',
    `The folder ${folder} has files and no ${CARD_FILE}, so that it is no whole homolog source. Delete it, or take ` +
      'another name.',
  );
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function countLines(path: string): Promise<number> {
  let lines = 0;
  for await (const chunk of createReadStream(path)) {
    for (const byte of chunk as Buffer) if (byte === 10) lines += 1;
  }
  return lines;
}
