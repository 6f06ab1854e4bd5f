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

/** Below the data folder: the control state as it was before its version grew. */
const COPIES_FOLDER = 'before-upgrade';

/** Where the copy of a version lies, in the form of the folder `control`, to be put in its place. */
export function copyPath(dataFolder: string, version: number): string {
  return join(dataFolder, COPIES_FOLDER, `version-${version}`, 'data.mdb');
}

/**
 * Copies the control state's file before a migration changes it. To be called inside a write transaction that has not
 * written yet: nobody else writes then, and the file is that of the last commit. Copies of earlier upgrades go.
 * Errors  Fault where the disk has no room for it; then nothing is migrated
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
