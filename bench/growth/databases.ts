import { cp, link, mkdir, readdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { seededRandom, shuffled } from '../../src/random.js';
import { readCompressed } from '../tools/natural.js';
import { readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';
import { measured } from './commands.js';

/** One seed for all machines, so that databases and queries are the same. */
const SEED = 43;
const SAMPLE = 'uniprot-sample.fasta.gz';
const NATURAL = ['natural', 'clean.fasta.xz'] as const;
/** Natural proteins that are related to domains of the tests. They fill databases that need more than the others. */
const RELATED = ['natural', 'screened-out.fasta.xz'] as const;

export interface GrowthDatabase {
  /**
   * Also the name of its FASTA file, without `.fasta`. In `<slug>.ids.fasta`, headers are the ids that our answers
   * have: programs differ in how they read the headers of UniProt.
   */
  readonly slug: string;
  readonly proteins: number;
  readonly residues: number;
  readonly ids: ReadonlySet<string>;
}

/** The folder of the bench, with databases that were built before. */
export interface GrowthFolder {
  readonly path: string;
  readonly queries: readonly BenchProtein[];
  /** Builds the database unless it exists. Undefined if there are not so many proteins. */
  database(count: number): Promise<GrowthDatabase | undefined>;
  /** Writes a FASTA file of queries. Returns its path. */
  queryFile(name: string, queries: readonly BenchProtein[]): Promise<string>;
  /** A command of the appliance with the indexes of this policy. */
  readonly gloaming: (policy: 'coded' | 'sampled', words: string) => string;
}

/**
 * Opens the folder. Proteins are read and written only if a file is missing.
 * Errors  those of the file system and of the FASTA reader
 */
export async function openGrowth(
  path: string,
  counts: readonly number[],
  queryCount: number,
): Promise<GrowthFolder> {
  await mkdir(path, { recursive: true });
  await writeProteins(path, counts, queryCount);
  const { list } = await readProteins(join(path, 'queries.fasta'));
  const program = join(loadConfig(process.env).packageFolder, 'dist', 'src', 'cli', 'main.js');
  const gloaming: GrowthFolder['gloaming'] = (policy, words) => {
    const [indexes, data] = policy === 'coded' ? ['i', 'd'] : ['sampled-i', 'sampled-d'];
    const places = `GLOAMING_INDEXES=${join(path, indexes)} GLOAMING_DATA=${join(path, data)}`;
    return `${places} '${process.execPath}' '${program}' ${words}`;
  };
  return {
    path,
    queries: list.slice(0, queryCount),
    gloaming,
    async queryFile(name, queries) {
      const file = join(path, `${name}.fasta`);
      await writeFasta(file, queries);
      return file;
    },
    async database(count) {
      const slug = slugOf(count);
      const fasta = join(path, `${slug}.fasta`);
      if (!existsSync(fasta)) return undefined;
      // Sequences that an earlier database has are not encoded again.
      if (!existsSync(join(path, 'i', slug)))
        await measured(
          gloaming('coded', `index build '${fasta}' --name ${slug} --homologs none --no-qualification`),
          path,
        );
      const { list: proteins } = await readProteins(fasta);
      const plain = join(path, `${slug}.ids.fasta`);
      if (!existsSync(plain)) await writeFasta(plain, proteins);
      const residues = proteins.reduce((sum, { sequence }) => sum + sequence.length, 0);
      return { slug, proteins: proteins.length, residues, ids: new Set(proteins.map(({ id }) => id)) };
    },
  };
}

/** Gives a database the coded policy. Errors: those of `index qualify` */
export async function qualifyCoded(
  { path, gloaming }: GrowthFolder,
  { slug }: GrowthDatabase,
): Promise<void> {
  if (await isQualified(join(path, 'i', slug))) return;
  await measured(gloaming('coded', `index qualify ${slug} --policy coded`), path);
}

/**
 * Gives a database the sampled policy, in a folder of its own: a release has one policy. The files are hard links.
 * Errors  those of `index qualify` and of the file system
 */
export async function qualifySampled(
  { path, gloaming }: GrowthFolder,
  { slug }: GrowthDatabase,
): Promise<void> {
  const [from, to] = [join(path, 'i'), join(path, 'sampled-i')];
  if (existsSync(join(to, slug)) && (await isQualified(join(to, slug)))) return;
  for (const name of ['encoders', slug]) {
    await rm(join(to, name), { recursive: true, force: true });
    if (existsSync(join(from, name))) await linkFolder(join(from, name), join(to, name));
  }
  // The control state names the published releases.
  await rm(join(path, 'sampled-d'), { recursive: true, force: true });
  await cp(join(path, 'd'), join(path, 'sampled-d'), { recursive: true });
  // The coded card of the same links would stay if sampled did not qualify.
  await removeCards(join(to, slug));
  await measured(gloaming('sampled', `index qualify ${slug} --policy sampled`), path);
}

async function removeCards(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name, 'policy.json'), { force: true });
}

async function linkFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [one, other] = [join(from, entry.name), join(to, entry.name)];
    await (entry.isDirectory() ? linkFolder(one, other) : link(one, other));
  }
}

async function isQualified(folder: string): Promise<boolean> {
  const names = await readdir(folder);
  return names.some((name) => existsSync(join(folder, name, 'policy.json')));
}

function slugOf(count: number): string {
  return `n${Math.round(count / 1_000)}`;
}

async function writeProteins(path: string, counts: readonly number[], queryCount: number): Promise<void> {
  const files = ['queries', ...counts.map(slugOf)].map((name) => join(path, `${name}.fasta`));
  if (files.every((file) => existsSync(file))) return;
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const { list: sample } = await readProteins(join(shared, 'data', SAMPLE));
  const known = new Set(sample.map(({ sequence }) => sequence));
  const readUnknown = async (file: readonly string[]): Promise<readonly BenchProtein[]> => {
    const list: BenchProtein[] = [];
    for await (const protein of readCompressed(join(shared, 'data', ...file)))
      if (!known.has(protein.sequence)) list.push(protein);
    return shuffled(list, seededRandom(SEED));
  };
  const others = await readUnknown(NATURAL);
  const unrelated = [...sample, ...others.slice(queryCount)];
  const isEnough = counts.every((count) => count <= unrelated.length);
  const list = isEnough ? unrelated : unrelated.concat(await readUnknown(RELATED));
  await writeUnlessThere(files[0], others.slice(0, queryCount));
  for (const [at, count] of counts.entries())
    if (count <= list.length) await writeUnlessThere(files[at + 1], list.slice(0, count));
}

async function writeUnlessThere(file: string, proteins: readonly BenchProtein[]): Promise<void> {
  if (!existsSync(file)) await writeFasta(file, proteins);
}
