import { execFile, spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PROGRAM } from './paths.js';

/** An appliance in a process of its own, which tests kill or measure. */
export interface ServedProcess {
  readonly server: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with the address once it listens. */
  readonly listening: Promise<string>;
}

const SERVED = fileURLToPath(new URL('served-appliance.mjs', import.meta.url));

/** @param environment settings of the appliance, beside the variables of this process */
export function serveInProcess(environment: Readonly<Record<string, string>>): ServedProcess {
  const env = { ...process.env, ...environment };
  const server = spawn(process.execPath, [SERVED], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const listening = once(createInterface({ input: server.stdout }), 'line').then(([url]) => url as string);
  return { server, listening };
}

/** Texts and exit status of a command that has ended. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** Runs the command line as it ships. Errors  none: a failed command has its status in `code` */
export async function runProgram(environment: NodeJS.ProcessEnv, words: readonly string[]): Promise<Printed> {
  const env = { ...process.env, ...environment };
  try {
    return { ...(await promisify(execFile)(process.execPath, [PROGRAM, ...words], { env })), code: 0 };
  } catch (error) {
    return error as Printed;
  }
}
