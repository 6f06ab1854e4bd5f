import {
  closeSync,
  constants,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { Fault } from '../errors.js';

/** Folder below the data folder for the control state as it was before a migration. */
const COPIES_FOLDER = 'before-upgrade';

/** Path of the copy of a version. It has the form of the folder `control`, which it can replace. */
export function copyPath(dataFolder: string, version: number): string {
  return join(dataFolder, COPIES_FOLDER, `version-${version}`, 'data.mdb');
}

/**
 * Copies the control state's file before a migration. Must be called inside a write transaction before its first write,
 * which excludes other writers and leaves the file as of the last commit. Removes copies of earlier upgrades.
 * Errors  Fault if the disk has too little space; the migration must not run then
 */
export function keepCopy(controlFile: string, dataFolder: string, version: number): void {
  const path = copyPath(dataFolder, version);
  try {
    rmSync(join(dataFolder, COPIES_FOLDER), { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    copyFileSync(controlFile, `${path}.new`, constants.COPYFILE_FICLONE);
    sync(`${path}.new`);
    renameSync(`${path}.new`, path);
    sync(dirname(path));
  } catch (cause) {
    throw new Fault(
      `The control state is to be brought to a newer version, and ${path} cannot take the copy of before: make room ` +
        'on its disk and start again; nothing has changed.',
      { cause },
    );
  }
}

function sync(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
