import { execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { BenchProtein } from './proteins.js';

const run = promisify(execFile);

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

/** Lines of a file that xz packed; xz has to be installed. */
export function linesOf(path: string): AsyncIterable<string> {
  const child = spawn('xz', ['-dc', path], { stdio: ['ignore', 'pipe', 'inherit'] });
  return createInterface({ input: child.stdout });
}

/** Sequences of a FASTA file that xz packed, by the first word of each header. */
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
