import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { Fault, Refusal } from '../errors.js';
import { MEBIBYTE_BYTES } from '../limits.js';
import type { FindOptions } from '../homologs/finder.js';
import { lowerGroup, signalGroup } from '../processes.js';

/** Time limit of one mmseqs process. Unit: ms */
const CHILD_MAX_MS = 12 * 60 * 60 * 1000;
const COMPLAINT_MAX_BYTES = MEBIBYTE_BYTES / 16;
/** Memory of one part of an index. */
export const MEMORY_LIMIT = '8G';
/** Default sensitivity of mmseqs, stated explicitly because results depend on it. */
export const SENSITIVITY = '5.7';
/** Greatest sensitivity of mmseqs's own presets. */
export const DEEP_SENSITIVITY = '7.5';

/** Returns the version of the installed mmseqs; undefined if it cannot be run. Errors  none */
export async function mmseqsVersion(): Promise<string | undefined> {
  try {
    return (await runMmseqs(['version'], {})).trim();
  } catch {
    return undefined;
  }
}

const INTERRUPTIONS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Runs mmseqs and returns its standard output, cut off after COMPLAINT_MAX_BYTES.
 * Errors  Refusal `tool_missing`; Fault where mmseqs fails or exceeds the time limit; the signal's reason
 */
export async function runMmseqs(
  args: readonly string[],
  { signal, isLowPriority = false }: FindOptions,
): Promise<string> {
  signal?.throwIfAborted();
  // A search is a script that starts processes. Its own process group lets all of them be killed before its folder is
  // removed.
  const child = spawn('mmseqs', args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  if (isLowPriority) lowerGroup(child);
  const ending = new Promise<number | null>((resolve, reject) => {
    child.on('error', (cause: NodeJS.ErrnoException) => reject(cause.code === 'ENOENT' ? missing() : cause));
    child.on('close', resolve);
  });
  const end = (): void => signalGroup(child, 'SIGKILL');
  // The terminal's Ctrl-C does not reach another process group.
  const interrupted = (name: NodeJS.Signals): void => {
    end();
    if (process.listenerCount(name) === 0) process.kill(process.pid, name);
  };
  for (const name of INTERRUPTIONS) process.once(name, interrupted);
  const tooLong = setTimeout(end, CHILD_MAX_MS);
  signal?.addEventListener('abort', end);
  const output = { stdout: '', stderr: '' };
  // If no file descriptor is left, the child has no streams, and only its error event reports the failure.
  const streams: Partial<Record<keyof typeof output, Readable>> = child;
  for (const name of ['stdout', 'stderr'] as const) {
    streams[name]?.setEncoding('utf8').on('data', (text: string) => {
      if (output[name].length < COMPLAINT_MAX_BYTES) output[name] += text;
    });
  }
  const status = await ending.finally(() => {
    clearTimeout(tooLong);
    for (const name of INTERRUPTIONS) process.off(name, interrupted);
    signal?.removeEventListener('abort', end);
  });
  signal?.throwIfAborted();
  if (status === 0) return output.stdout;
  const complaint = (output.stderr || output.stdout).trim().slice(-1_000);
  throw new Fault(`mmseqs ${args[0]} failed: ${complaint || 'it was killed or ran longer than 12 hours'}`);
}

function missing(): Refusal {
  return new Refusal('tool_missing', 'mmseqs is not installed (Debian and Ubuntu: apt-get install mmseqs2).');
}
