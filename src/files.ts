import { open, readdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/* Files and folders: whether they exist, and how they survive a power cut. */

/** Whether a file or folder exists, and its folder can be read. Errors  none */
export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Makes the names in a folder as durable as the files that they name. */
export async function syncFolder(path: string): Promise<void> {
  await syncPath(path);
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Gives a folder of finished files its final name. The files are on the disk first, so that after a power cut a folder
 * of this name is whole.
 * Errors  those of the file system, such as ENOTEMPTY for a destination with files
 */
export async function putFolder(folder: string, destination: string): Promise<void> {
  for (const name of await readdir(folder)) await syncPath(join(folder, name));
  await syncFolder(folder);
  await rename(folder, destination);
  await syncFolder(dirname(destination));
}

/**
 * Gives a finished file its final name, in place of a file of that name.
 * Errors  those of the file system
 */
export async function putFile(file: string, destination: string): Promise<void> {
  await syncPath(file);
  await rename(file, destination);
  await syncFolder(dirname(destination));
}

/** Writes a small file so that, whatever happens, either the old content is there or the new. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.new`, 'w');
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(dirname(path));
}
