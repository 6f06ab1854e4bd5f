import { execFile, type ExecFileException } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { damaged, isControlStateEmpty, problemOfControlFile } from './prepare.js';

/** The compiled entry point, beside this file. */
const PROBE_FILE = fileURLToPath(new URL('./probe-process.js', import.meta.url));
/** What hangs has found a circle in the pages. */
const HANG_MS = 20_000;
/** A look before the control state is opened; large ones are read to their end by fsck alone. */
const LOOK_MS = 100;

/**
 * Reads the control state in a process of its own, which may die of what it finds. undefined where all that it read
 * was good, or where there is nothing to read.
 * @param budgetMs how long it reads; all of it without
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
 * To be called before the control state is opened for writing.
 * Errors  Refusal `data_folder_damaged`
 */
export async function requireSoundControlState(dataFolder: string): Promise<void> {
  const problem = await problemOfControlState(dataFolder, LOOK_MS);
  if (problem !== undefined) throw damaged(dataFolder, problem);
}

/** The process writes what it has found as its only line. */
function wordsFor({ signal, killed }: ExecFileException, stdout: string): string {
  if (killed === true) return 'reading it does not come to an end';
  if (signal) return `reading it ends a process by ${signal}`;
  return stdout.trim() || 'it cannot be read';
}
