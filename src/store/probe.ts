import { execFile, type ExecFileException } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { damaged, isControlStateEmpty, problemOfControlFile } from './prepare.js';

/** The compiled entry point, beside this file. */
const PROBE_FILE = fileURLToPath(new URL('./probe-process.js', import.meta.url));
/** A read that takes longer has met a cycle in the pages. */
const HANG_MS = 20_000;
/** Time for the probe before the control state is opened. Only fsck reads large control states to their end. */
const LOOK_MS = 100;

/**
 * Reads the control state in a child process, which damaged pages may crash. undefined if all rows that it read were
 * valid, or if there is no control state.
 * @param budgetMs time limit; without it, reads all rows
 */
export async function problemOfControlState(
  dataFolder: string,
  budgetMs?: number,
): Promise<string | undefined> {
  const problem = problemOfControlFile(dataFolder);
  if (problem !== undefined || isControlStateEmpty(dataFolder)) return problem;
  const hangMs = budgetMs === undefined ? 0 : budgetMs + HANG_MS;
  const argv = [PROBE_FILE, dataFolder, String(budgetMs ?? Infinity)];
  return new Promise((resolve) => {
    execFile(process.execPath, argv, { timeout: hangMs, killSignal: 'SIGKILL' }, (error, stdout) => {
      resolve(error === null ? undefined : wordsFor(error, stdout));
    });
  });
}

/**
 * Probes the control state before it is opened for writing.
 * Errors  Refusal `data_folder_damaged`
 */
export async function requireSoundControlState(dataFolder: string): Promise<void> {
  const problem = await problemOfControlState(dataFolder, LOOK_MS);
  if (problem !== undefined) throw damaged(dataFolder, problem);
}

/** Message for the result. The process writes its finding as its only line. */
function wordsFor({ signal, killed }: ExecFileException, stdout: string): string {
  if (killed === true) return 'reading it does not come to an end';
  if (signal) return `reading it ends a process by ${signal}`;
  return stdout.trim() || 'it cannot be read';
}
