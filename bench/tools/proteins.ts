import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.js';
import { parseFastaHeader } from '../../src/sequence/fasta-header.js';
import { readFasta, fastaFile } from '../../src/sequence/fasta.js';
import { normaliseProtein } from '../../src/sequence/protein.js';
import { simulateProteins } from '../../src/demo/simulate.js';

export interface BenchProtein {
  readonly id: string;
  readonly sequence: string;
}

/** Real domains where the shared data is beside the repository; simulated proteins, and saying so, where it is not. */
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

/** `count` of a list at even distances, from its first; all where it has no more. */
export function spaced<Item>(list: readonly Item[], count: number): readonly Item[] {
  const wanted = Math.min(list.length, count);
  return Array.from({ length: wanted }, (_, at) => list[Math.floor((at * list.length) / wanted)]);
}

export async function writeFasta(path: string, proteins: readonly BenchProtein[]): Promise<void> {
  await writeFile(path, proteins.map(({ id, sequence }) => `>${id}\n${sequence}\n`).join(''));
}
