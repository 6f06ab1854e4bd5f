import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import { isAlive, processIdentity, type ProcessIdentity } from '../processes.js';

const LOCK_FILE = 'lock';
const ATTEMPTS = 5;

/**
 * Makes this process the only builder in the folder until the returned function is called. The lock of a
 * process that was killed is recognised and taken over.
 * Errors  Refusal `build_running` that names the process
 */
export async function lockBuild(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, LOCK_FILE);
  const own = `${path}.${process.pid}`;
  await writeFile(own, JSON.stringify(processIdentity(process.pid)));
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // A link appears with its content, or not at all where there is one already.
      if (await succeeds(link(own, path), 'EEXIST')) return () => rm(path, { force: true });
      await removeStale(path);
    }
    throw new Refusal('build_running', `The lock ${path} changes hands too fast; try again.`);
  } finally {
    await rm(own, { force: true });
  }
}

async function removeStale(path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const holder = JSON.parse(text) as ProcessIdentity;
  if (isAlive(holder)) {
    throw new Refusal(
      'build_running',
      `This database is being built by process ${holder.pid}; wait until it is done.`,
      {
        pid: holder.pid,
      },
    );
  }
  // Whoever moves it away owns the stale lock; if it was another's fresh one by now, it goes back.
  const aside = `${path}.stale.${process.pid}`;
  if (!(await succeeds(rename(path, aside), 'ENOENT'))) return;
  if ((await readFile(aside, 'utf8')) !== text) await succeeds(link(aside, path), 'EEXIST');
  await rm(aside, { force: true });
}

async function succeeds(action: Promise<unknown>, expectedCode: string): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === expectedCode) return false;
    throw cause;
  }
}
