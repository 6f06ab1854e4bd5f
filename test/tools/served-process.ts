import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

/** An appliance in a process of its own, which tests kill or measure. */
export interface ServedProcess {
  readonly server: ChildProcessByStdio<null, Readable, null>;
  /** Resolves with the address once it listens. */
  readonly listening: Promise<string>;
}

const PROGRAM = fileURLToPath(new URL('served-appliance.mjs', import.meta.url));

/** @param environment settings of the appliance, beside the variables of this process */
export function serveInProcess(environment: Readonly<Record<string, string>>): ServedProcess {
  const env = { ...process.env, ...environment };
  const server = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const listening = once(createInterface({ input: server.stdout }), 'line').then(([url]) => url as string);
  return { server, listening };
}
