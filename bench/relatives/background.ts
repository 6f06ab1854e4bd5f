import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { seededRandom, type Random } from '../../src/random.js';
import { linesOf, readCompressed } from '../tools/natural.js';

const FILES = ['clean.fasta.xz', 'screened-out.fasta.xz'];
const FUSIONS = 5_000;

/** How a background differs from all natural sequences that mmseqs connects to the domains. */
export type BackgroundKind = 'whole' | 'third' | 'planted';

/**
 * Writes the background of the labelled domains: whole, a random third of it, or with fusions of two of its sequences
 * planted in it, which let profiles drift from one family to another.
 * @returns sequences that were written
 */
export async function writeBackground(natural: string, kind: BackgroundKind, path: string): Promise<number> {
  const wanted = new Set<string>();
  for await (const id of linesOf(join(natural, 'relatives-of-domains.ids.xz'))) wanted.add(id);
  const random = seededRandom(17);
  const out = createWriteStream(path);
  const some: string[] = [];
  let written = 0;
  const write = (id: string, sequence: string): void => {
    out.write(`>${id}\n${sequence}\n`);
    written += 1;
  };
  for (const file of FILES) {
    for await (const { id, sequence } of readCompressed(join(natural, file))) {
      if (!wanted.has(id) || (kind === 'third' && random.below(3) !== 0)) continue;
      write(id, sequence);
      keepSome(some, sequence, written, random);
    }
  }
  for (let fusion = 0; kind === 'planted' && fusion < FUSIONS; fusion += 1) {
    write(`fusion-${fusion}`, some[random.below(some.length)] + some[random.below(some.length)]);
  }
  await new Promise((resolve, reject) => out.on('error', reject).end(resolve));
  return written;
}

/** An even sample of what comes. */
function keepSome(some: string[], sequence: string, seen: number, random: Random): void {
  if (some.length < FUSIONS) some.push(sequence);
  else if (random.below(seen) < FUSIONS) some[random.below(FUSIONS)] = sequence;
}
