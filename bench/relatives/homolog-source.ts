import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seededRandom, type Random } from '../../src/random.js';
import { linesOf, readCompressed } from '../tools/natural.js';
import { readProteins, writeFasta, type BenchProtein } from '../tools/proteins.js';

const run = promisify(execFile);
const FILES = ['clean.fasta.xz', 'screened-out.fasta.xz'];
const FUSIONS = 5_000;
const EVEN_COUNT = 100_000;
/** Copies are at least so much alike over at least so much of a domain. */
const COPY = { identity: '0.9', coverage: '0.8' };

/**
 * How backgrounds differ. `whole` is all natural sequences that mmseqs connects to the labelled domains; `third` a
 * random third of it; `distant` lacks what is nearly a copy of a domain; `planted` has fusions of two of its
 * sequences, which let profiles drift from one family to another. `even` is 100,000 of all natural sequences, whatever
 * they are, and `proteomes` the shared sample of UniProt: what a lab may have at hand.
 */
export const BACKGROUND_KINDS = ['whole', 'third', 'distant', 'planted', 'even', 'proteomes'] as const;
export type HomologSourceKind = (typeof BACKGROUND_KINDS)[number];

/**
 * Writes a background of the labelled domains.
 * @param data  the folder of the shared data
 * @returns sequences that were written
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
    keepSome(some, protein.sequence, written, random);
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
  const wanted = kind === 'even' ? undefined : await idsOf(join(natural, 'relatives-of-domains.ids.xz'));
  const all = kind === 'even' ? await countSequences(natural) : 0;
  for (const file of FILES) {
    for await (const protein of readCompressed(join(natural, file))) {
      const isWanted = wanted === undefined ? random.below(all) < EVEN_COUNT : wanted.has(protein.id);
      if (isWanted && (kind !== 'third' || random.below(3) === 0)) yield protein;
    }
  }
}

async function idsOf(path: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const id of linesOf(path)) ids.add(id);
  return ids;
}

/** Of both files: what meta.tsv lists below its header. */
async function countSequences(natural: string): Promise<number> {
  let count = -1;
  for await (const line of linesOf(join(natural, 'meta.tsv.xz'))) if (line !== '') count += 1;
  return count;
}

/** Writes the file again without what mmseqs holds for copies. @returns sequences that stay */
async function leaveOutCopies(path: string, domains: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-copies-'));
  try {
    const found = join(folder, 'found.tsv');
    const files = [domains, path, found, join(folder, 'tmp')];
    const alike = [
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
      ...alike,
      '-s',
      '2',
      '-v',
      '1',
      '--format-output',
      'target',
    ]);
    const copies = new Set((await readFile(found, 'utf8')).split('\n'));
    const { list } = await readProteins(path);
    const others = list.filter(({ id }) => !copies.has(id));
    await writeFasta(path, others);
    return others.length;
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** An even sample of what comes. */
function keepSome(some: string[], sequence: string, seen: number, random: Random): void {
  if (some.length < FUSIONS) some.push(sequence);
  else if (random.below(seen) < FUSIONS) some[random.below(FUSIONS)] = sequence;
}
