import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { seededRandom } from '../../src/random.js';
import { parseFastaHeader } from '../../src/sequence/fasta-header.js';
import { readFasta, fastaFile } from '../../src/sequence/fasta.js';
import { normaliseProtein } from '../../src/sequence/protein.js';
import { simulateProteins } from '../../src/demo/simulate.js';

export interface BenchProtein {
  readonly id: string;
  readonly sequence: string;
}

/**
 * Reads the proteins of a FASTA file; by default those of the shared data. Without that file the proteins are
 * simulated, and `source` says so.
 * Errors  those of the FASTA reader
 */
export async function readProteins(
  path: string | undefined,
): Promise<{ readonly source: string; readonly list: readonly BenchProtein[] }> {
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const fasta = path ?? join(shared, 'data', 'scope40', 'domains.fasta');
  if (!existsSync(fasta)) {
    const list = simulateProteins(1, 5_000).proteins.map(({ id, sequence }) => ({ id, sequence }));
    return { source: 'simulated proteins (no shared data here)', list };
  }
  const list: BenchProtein[] = [];
  for await (const { header, text } of readFasta(fastaFile(fasta))) {
    list.push({ id: parseFastaHeader(header).id, sequence: normaliseProtein(text).sequence });
  }
  return { source: 'real proteins', list };
}

/** Returns `count` evenly spaced items of a list from its first, or the whole list if it is shorter. */
export function spaced<Item>(list: readonly Item[], count: number): readonly Item[] {
  const length = Math.min(list.length, count);
  return Array.from({ length }, (_, at) => list[Math.floor((at * list.length) / length)]);
}

export async function writeFasta(path: string, proteins: readonly BenchProtein[]): Promise<void> {
  await writeFile(path, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
}

const SEED = 20;

/** Draws proteins at random, without repeats. A shorter draw is the beginning of a longer one. */
export function draw(list: readonly BenchProtein[], count: number): readonly BenchProtein[] {
  const random = seededRandom(SEED);
  const rest = [...list];
  return Array.from(
    { length: Math.min(count, list.length) },
    () => rest.splice(random.below(rest.length), 1)[0],
  );
}
