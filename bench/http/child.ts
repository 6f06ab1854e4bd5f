import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LoadTarget } from './load.js';

/** The server under test, in a separate process. */
export interface Server extends LoadTarget {
  readonly sequences: readonly string[];
  readonly child: ChildProcess;
}

/** Resources that a process has used so far. */
export interface Usage {
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
}

/** Figures by name, as `--json` prints them. */
export type Figures = Readonly<Record<string, number>>;

/**
 * Starts a server.
 * @param file module of this folder, which reports its address after the start
 */
export async function startServer(file: 'server.js' | 'bare.js'): Promise<Server> {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)));
  const [started] = (await once(child, 'message')) as [Omit<Server, 'child'>];
  return { ...started, child };
}

export async function stopServer({ child }: Server): Promise<void> {
  child.send('stop');
  await once(child, 'exit');
}

export async function usageOf({ child }: Server): Promise<Usage> {
  child.send('usage');
  const [usage] = (await once(child, 'message')) as [Usage];
  return usage;
}

export function searchBody(sequence: string | undefined, limit: number): string {
  return JSON.stringify({ query: { kind: 'protein_sequence', sequence }, limit });
}
