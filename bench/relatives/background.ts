import { execFile, spawn } from 'node:child_process';
import { createWriteStream, existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seededRandom, type Random } from '../../src/random.js';

const run = promisify(execFile);
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
  const { stdout } = await run('xz', ['-dc', join(natural, 'relatives-of-domains.ids.xz')], {
    maxBuffer: 1 << 28,
  });
  const wanted = new Set(stdout.split('\n').filter(Boolean));
  const random = seededRandom(17);
  const out = createWriteStream(path);
  const some: string[] = [];
  let written = 0;
  const write = (id: string, sequence: string): void => {
    out.write(`>${id}\n${sequence}\n`);
    written += 1;
  };
  for (const file of FILES) {
    for await (const [id, sequence] of readCompressed(join(natural, file))) {
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

/** Whether the natural sequences are there, and xz to read them. */
export async function hasNatural(natural: string): Promise<boolean> {
  return (
    existsSync(natural) &&
    run('xz', ['--version']).then(
      () => true,
      () => false,
    )
  );
}

/** An even sample of what comes. */
function keepSome(some: string[], sequence: string, seen: number, random: Random): void {
  if (some.length < FUSIONS) some.push(sequence);
  else if (random.below(seen) < FUSIONS) some[random.below(FUSIONS)] = sequence;
}

async function* readCompressed(path: string): AsyncGenerator<readonly [string, string]> {
  const child = spawn('xz', ['-dc', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  let id: string | undefined;
  let parts: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith('>')) {
      parts.push(line);
      continue;
    }
    if (id !== undefined) yield [id, parts.join('')];
    id = line.slice(1).split(/\s/)[0];
    parts = [];
  }
  if (id !== undefined) yield [id, parts.join('')];
}
