import type { Dirent, Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifAbsent } from '../errors.js';

/** Names in a folder, each list sorted. */
export interface ListedNames {
  readonly folders: readonly string[];
  readonly files: readonly string[];
}

/**
 * Lists the folders and plain files of a folder. A symbolic link counts as what it leads to, because labs link
 * databases to other disks. Links that lead nowhere or in a circle are left out.
 * Errors  those of the file system; a missing folder counts as empty
 */
export async function listNames(path: string): Promise<ListedNames> {
  const entries = await readdir(path, { withFileTypes: true }).catch(ifAbsent<readonly Dirent[]>([]));
  const [folders, files]: [string[], string[]] = [[], []];
  for (const entry of entries) {
    const resolved = entry.isSymbolicLink() ? await resolveLink(join(path, entry.name)) : entry;
    if (resolved?.isDirectory()) folders.push(entry.name);
    if (resolved?.isFile()) files.push(entry.name);
  }
  return { folders: folders.sort(), files: files.sort() };
}

async function resolveLink(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ELOOP') return undefined;
    throw cause;
  }
}
