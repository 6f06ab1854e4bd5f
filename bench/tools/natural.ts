import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { BenchProtein } from './proteins.js';

const run = promisify(execFile);

/** Returns whether the folder of natural sequences exists and xz is installed. Errors: none */
export async function hasNatural(natural: string): Promise<boolean> {
  return (
    existsSync(natural) &&
    run('xz', ['--version']).then(
      () => true,
      () => false,
    )
  );
}

/** Yields the lines of an xz-compressed file. Needs xz. */
export function linesOf(path: string): AsyncIterable<string> {
  const child = spawn('xz', ['-dc', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  return createInterface({ input: child.stdout });
}

/** Yields the sequences of an xz-compressed FASTA file. An id is the first word of a header. Needs xz. */
export async function* readCompressed(path: string): AsyncGenerator<BenchProtein> {
  let id: string | undefined;
  let parts: string[] = [];
  for await (const line of linesOf(path)) {
    if (!line.startsWith('>')) {
      parts.push(line);
      continue;
    }
    if (id !== undefined) yield { id, sequence: parts.join('') };
    id = line.slice(1).split(/\s/)[0];
    parts = [];
  }
  if (id !== undefined) yield { id, sequence: parts.join('') };
}
