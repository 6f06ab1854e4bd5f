import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seededRandom, type Random } from '../../src/random.js';
import { linesOf, readCompressed } from './natural.js';
import { readProteins, writeFasta, type BenchProtein } from './proteins.js';

const run = promisify(execFile);
const FILES = ['clean.fasta.xz', 'screened-out.fasta.xz'];
const FUSIONS = 5_000;
const EVEN_COUNT = 100_000;
/** Least identity of a near copy of a domain, and least coverage of the domain. */
const COPY = { identity: '0.9', coverage: '0.8' };

/**
 * Kinds of homolog sources:
 *
 *   whole      all natural sequences that mmseqs connects with the labelled domains
 *   third      a random third of `whole`
 *   distant    `whole` without near copies of a domain
 *   planted    `whole` with fusions of two of its sequences, which contaminate profiles with other homolog sets
 *   even       a random sample of about 100,000 of all natural sequences
 *   proteomes  the shared sample of UniProt, similar to what a laboratory has at hand
 */
export const HOMOLOG_SOURCE_KINDS = ['whole', 'third', 'distant', 'planted', 'even', 'proteomes'] as const;
export type HomologSourceKind = (typeof HOMOLOG_SOURCE_KINDS)[number];

/**
 * Writes a homolog source for the labelled domains as FASTA.
 * @param data  folder of the shared data
 * @returns number of sequences
 * Errors  those of xz, mmseqs and the file system
 */
export async function writeHomologSource(
  data: string,
  kind: HomologSourceKind,
  path: string,
): Promise<number> {
  const random = seededRandom(17);
  const out = createWriteStream(path);
  const some: string[] = [];
  let written = 0;
  const write = ({ id, sequence }: BenchProtein): void => {
    out.write(`>${id}\n${sequence}\n`);
    written += 1;
  };
  for await (const protein of sequencesOf(data, kind, random)) {
    write(protein);
    sampleSequence(some, protein.sequence, written, random);
  }
  for (let fusion = 0; kind === 'planted' && fusion < FUSIONS; fusion += 1) {
    const sequence = some[random.below(some.length)] + some[random.below(some.length)];
    write({ id: `fusion-${fusion}`, sequence });
  }
  await new Promise((resolve, reject) => out.on('error', reject).end(resolve));
  if (kind === 'distant') return leaveOutCopies(path, join(data, 'scope40', 'domains.fasta'));
  return written;
}

async function* sequencesOf(
  data: string,
  kind: HomologSourceKind,
  random: Random,
): AsyncGenerator<BenchProtein> {
  if (kind === 'proteomes') {
    const { list } = await readProteins(join(data, 'uniprot-sample.fasta.gz'));
    yield* list;
    return;
  }
  const natural = join(data, 'natural');
  const ids = kind === 'even' ? undefined : await idsOf(join(natural, 'relatives-of-domains.ids.xz'));
  const all = kind === 'even' ? await countSequences(natural) : 0;
  for (const file of FILES) {
    for await (const protein of readCompressed(join(natural, file))) {
      const isMember = ids === undefined ? random.below(all) < EVEN_COUNT : ids.has(protein.id);
      if (isMember && (kind !== 'third' || random.below(3) === 0)) yield protein;
    }
  }
}

async function idsOf(path: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const id of linesOf(path)) ids.add(id);
  return ids;
}

/** Counts the sequences of both files: the lines of meta.tsv below its header. */
async function countSequences(natural: string): Promise<number> {
  let count = -1;
  for await (const line of linesOf(join(natural, 'meta.tsv.xz'))) if (line !== '') count += 1;
  return count;
}

/** Removes near copies of the domains, as found by mmseqs, from the file. Returns the number of remaining sequences. */
async function leaveOutCopies(path: string, domains: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-copies-'));
  try {
    const hits = join(folder, 'found.tsv');
    const files = [domains, path, hits, join(folder, 'tmp')];
    const thresholds = [
      '--min-seq-id',
      COPY.identity,
      '-c',
      COPY.coverage,
      '--cov-mode',
      '2',
      '--max-seqs',
      '5000',
    ];
    await run('mmseqs', [
      'easy-search',
      ...files,
      ...thresholds,
      '-s',
      '2',
      '-v',
      '1',
      '--format-output',
      'target',
    ]);
    const copies = new Set((await readFile(hits, 'utf8')).split('\n'));
    const { list } = await readProteins(path);
    const others = list.filter(({ id }) => !copies.has(id));
    await writeFasta(path, others);
    return others.length;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Adds a sequence to a uniform sample of fixed size. Source: reservoir sampling (Vitter 1985) */
function sampleSequence(some: string[], sequence: string, seen: number, random: Random): void {
  if (some.length < FUSIONS) some.push(sequence);
  else if (random.below(seen) < FUSIONS) some[random.below(FUSIONS)] = sequence;
}
