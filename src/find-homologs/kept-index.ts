import { mkdtemp, readFile, rename, rm, stat, statfs, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MEMORY_LIMIT, runMmseqs, SENSITIVITY } from './mmseqs-process.js';
import { exists } from '../files.js';

/*
 * The k-mer indexes of a homolog source: the folder `index/` beside its mmseqs database.
 *
 *   sequences.idx   for round 1, whose queries are sequences
 *   profiles.idx    for later rounds, whose queries are profiles
 *   index.json      card; the folder gets its name after the card is written
 *
 * The rounds need one index each, because mmseqs masks the targets by another matrix where the queries are profiles,
 * and then leaves out no k-mer of low score. With these indexes each round has the hits of a search without index.
 */

/** Content of index.json. */
interface IndexCard {
  readonly format: 'gloaming-background-index/1';
  /** Version of mmseqs that made the indexes. Other versions do not read them. */
  readonly mmseqs_version: string;
  /** Sizes of the index files. Unit: bytes */
  readonly sizes: Readonly<Record<string, number>>;
}

/** Paths of target databases that mmseqs searches by index. */
export interface KeptIndex {
  readonly sequences: string;
  readonly profiles: string;
}

/** Why a homolog source has an index or none. `small`: an index would save little. */
export type IndexOutcome =
  | { readonly kind: 'kept'; readonly bytes: number }
  | { readonly kind: 'small' }
  | { readonly kind: 'disk_full'; readonly neededBytes: number; readonly freeBytes: number }
  | { readonly kind: 'failed'; readonly message: string };

const FOLDER = 'index';
/** Start of the names of unfinished folders. */
export const UNFINISHED_INDEX_PREFIX = '.index-';
const CARD_FILE = 'index.json';
const TARGETS = ['sequences', 'profiles'] as const;
const DATABASE_FILES = ['', '.dbtype', '.index', '.lookup', '.source', '_h', '_h.dbtype', '_h.index'];

/**
 * Smallest database that gets an index. Measured on Zen 4 with 40 queries, processor time of both rounds: 14.6 s
 * without index for 11.6 M residues; 44.5 s without and 3.8 s with index for 46.8 M. Below a few million residues, a
 * search takes some seconds without index, and the indexes would take 1.8 GB.
 * Unit: bytes of the database, about one a residue
 */
const LEAST_BYTES = 5_000_000;
/** Substitution table of three residues, and the tables of one index that do not depend on the database. */
const TABLE_BYTES = 390_000_000;
const OFFSET_BYTES = 8;
/** A k-mer has six residues, and seven beyond this size. */
const SEVEN_FROM_BYTES = 3_350_000_000;
/** An entry, a letter for the prefilter, a letter for the alignment. */
const BYTES_PER_RESIDUE = 8;
/** Room for headers and for what others write meanwhile. */
const SPARE_RATIO = 1.1;

/**
 * Estimates the size of both indexes of a database; 0 if it is too small to get them.
 * Unit: bytes
 * @param databaseBytes  size of the database's letters, about one byte a residue
 */
export function indexBytes(databaseBytes: number, leastBytes = LEAST_BYTES): number {
  if (databaseBytes < leastBytes) return 0;
  const letters = databaseBytes >= SEVEN_FROM_BYTES ? 7 : 6;
  return TARGETS.length * (TABLE_BYTES + OFFSET_BYTES * 20 ** letters + BYTES_PER_RESIDUE * databaseBytes);
}

/**
 * Returns the indexes of a database if they are whole and made by this version of mmseqs; otherwise undefined, and
 * mmseqs makes its own in each call.
 * Errors  none: a damaged card counts as no index
 */
export async function findKeptIndex(database: string, version: string): Promise<KeptIndex | undefined> {
  const folder = join(dirname(database), FOLDER);
  const card = await readCard(folder);
  if (card?.mmseqs_version !== version) return undefined;
  if ((await indexProblems(dirname(database))).length > 0) return undefined;
  return { sequences: join(folder, 'sequences'), profiles: join(folder, 'profiles') };
}

/** Problems of the index beside a database, as ends of sentences; none if there is no index. Errors  none */
export async function indexProblems(sourceFolder: string): Promise<readonly string[]> {
  const folder = join(sourceFolder, FOLDER);
  if (!(await exists(folder))) return [];
  const card = await readCard(folder);
  if (card === undefined) return [`has no readable ${CARD_FILE}`];
  const problems: string[] = [];
  for (const target of TARGETS) {
    const [name, expected] = [`${target}.idx`, card.sizes[`${target}.idx`]];
    const size = await stat(join(folder, name)).then(
      (status) => status.size,
      () => undefined,
    );
    if (size !== expected) problems.push(`has ${size ?? 'no'} bytes of ${name} instead of ${expected}`);
  }
  return problems;
}

interface IndexOptions {
  readonly threads: number;
  readonly signal?: AbortSignal;
  /** Size of the smallest database that gets an index. */
  readonly leastBytes?: number;
}

/**
 * Makes the indexes of a database if they save time and fit on the disk. An index of another version is replaced.
 * A failure leaves the database as it was: searches go without index.
 * Errors  the signal's reason
 * @param version  of the installed mmseqs
 */
export async function keepIndex(
  database: string,
  version: string,
  { threads, signal, leastBytes = LEAST_BYTES }: IndexOptions,
): Promise<IndexOutcome> {
  const source = dirname(database);
  try {
    const neededBytes = indexBytes((await stat(database)).size, leastBytes);
    if (neededBytes === 0) return { kind: 'small' };
    const { bavail, bsize } = await statfs(source);
    const freeBytes = bavail * bsize;
    if (freeBytes < neededBytes * SPARE_RATIO) return { kind: 'disk_full', neededBytes, freeBytes };
    return { kind: 'kept', bytes: await makeIndex(database, version, threads, signal) };
  } catch (cause) {
    signal?.throwIfAborted();
    return { kind: 'failed', message: (cause as Error).message };
  }
}

/**
 * Makes the indexes in a folder that gets its name when it is whole. Returns their size in bytes.
 * Errors  those of runMmseqs and of the file system
 */
async function makeIndex(
  database: string,
  version: string,
  threads: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  const source = dirname(database);
  const scratch = await mkdtemp(join(source, UNFINISHED_INDEX_PREFIX));
  const limits = ['--split-memory-limit', MEMORY_LIMIT, '--threads', String(Math.max(1, threads)), '-v', '1'];
  try {
    const sizes: Record<string, number> = {};
    for (const target of TARGETS) {
      // mmseqs finds an index by the name of its database. Relative links hold wherever the folder is mounted.
      for (const ending of DATABASE_FILES)
        await symlink(join('..', `db${ending}`), join(scratch, `${target}${ending}`));
      const path = join(scratch, target);
      await runMmseqs(['indexdb', path, path, ...INDEX_OPTIONS[target], ...limits], { signal });
      sizes[`${target}.idx`] = (await stat(`${path}.idx`)).size;
    }
    const card: IndexCard = { format: 'gloaming-background-index/1', mmseqs_version: version, sizes };
    await writeFile(join(scratch, CARD_FILE), `${JSON.stringify(card, undefined, 2)}\n`);
    await rm(join(source, FOLDER), { recursive: true, force: true });
    await rename(scratch, join(source, FOLDER));
    return Object.values(sizes).reduce((sum, size) => sum + size, 0);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

const SEED_MATRIX = 'aa:VTML80.out,nucl:nucleotide.out';
const ALIGNMENT_MATRIX = 'aa:blosum62.out,nucl:nucleotide.out';
const EVERY_KMER = 'seq:1,prof:1';
/**
 * Options that give each round the masking and the k-mers of mmseqs without index. Sequences need the seed matrix and
 * the k-mer threshold of the sensitivity. Profiles need the matrix of alignments and every k-mer.
 */
const INDEX_OPTIONS = {
  sequences: ['-s', SENSITIVITY, '--seed-sub-mat', SEED_MATRIX],
  profiles: ['-s', SENSITIVITY, '--seed-sub-mat', ALIGNMENT_MATRIX, '--k-score', EVERY_KMER],
} as const;

async function readCard(folder: string): Promise<IndexCard | undefined> {
  try {
    const card = JSON.parse(await readFile(join(folder, CARD_FILE), 'utf8')) as Partial<IndexCard> | null;
    const isCard = card?.format === 'gloaming-background-index/1' && typeof card.sizes === 'object';
    return isCard && card.sizes !== null ? (card as IndexCard) : undefined;
  } catch {
    return undefined;
  }
}
