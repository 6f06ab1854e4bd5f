import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '../errors.js';
import { holdLock, isAlive, processIdentity, requireEnded, type ProcessIdentity } from '../processes.js';
import { prepareDataFolder } from './prepare.js';

const OWNER_FILE = 'server.lock';
const ADDRESS_FILE = 'server.url';
/** Length of a lock that was overwritten in place: room for every lock that was there before. */
const OVERWRITTEN_BYTES = 512;

/**
 * Makes this process the only server of the data folder until the returned function is called. Commands open the
 * control state beside a server, but two servers would send each delivery and start each run twice. The lock has the
 * pid of its owner and the start time of that process, so that the lock of an ended process is taken over.
 * Errors  Refusal `data_folder_in_use` that names the process, or the lock file if the process cannot be checked;
 *         those of prepareDataFolder
 */
export async function ownDataFolder(dataFolder: string): Promise<() => Promise<void>> {
  prepareDataFolder(dataFolder);
  const path = join(dataFolder, OWNER_FILE);
  const refuse = (pid: number): Refusal =>
    new Refusal(
      'data_folder_in_use',
      `${dataFolder} is served by process ${pid}: stop that server, or name another folder by GLOAMING_DATA.`,
      { pid },
    );
  try {
    return await holdLock(path, refuse);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    await overwrite(path, refuse);
    return () => Promise.resolve();
  }
}

/**
 * Notes the address of the server of a data folder for the commands beside it. Its port may be named by its own
 * environment alone. Returns a function that removes the note.
 * Errors  none
 */
export function noteAddress(dataFolder: string, url: string): () => void {
  const path = join(dataFolder, ADDRESS_FILE);
  try {
    writeFileSync(path, url);
  } catch {
    // A full disk has no room for the note. Commands then take the address of their own settings.
  }
  return () => rmSync(path, { force: true });
}

/** Returns the address of the server that runs on a data folder; undefined if none does. */
export function servedAddress(dataFolder: string): string | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(dataFolder, OWNER_FILE), 'utf8')) as ProcessIdentity;
    return isAlive(owner) ? readFileSync(join(dataFolder, ADDRESS_FILE), 'utf8') : undefined;
  } catch {
    // There is no lock and no note, or they are being written.
    return undefined;
  }
}

/**
 * Overwrites the lock of an ended process in place. A full disk has no room for a new file, and a server must start
 * there. Without any lock to overwrite, the server starts without one.
 */
async function overwrite(path: string, refuse: (pid: number) => Refusal): Promise<void> {
  try {
    const file = openSync(path, 'r+');
    try {
      const holder = JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity;
      await requireEnded(path, holder, refuse);
      writeSync(file, JSON.stringify(processIdentity(process.pid)).padEnd(OVERWRITTEN_BYTES), 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
  }
}
