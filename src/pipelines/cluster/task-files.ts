import { open, readFile, rename } from 'node:fs/promises';
import { Fault } from '../../errors.js';

/** Reads a JSON file of divided work. Errors  Fault where it is damaged; those of the file system */
export async function readJson<Value extends object>(path: string): Promise<Value> {
  const text = await readFile(path, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw damagedFile(path, cause);
  }
  if (typeof value !== 'object' || value === null) throw damagedFile(path);
  return value as Value;
}

/** Fault for a file of divided work that the same command writes again. */
export function damagedFile(path: string, cause?: unknown): Fault {
  return new Fault(`${path} is damaged; remove it and run the same command again.`, { cause });
}

/**
 * Writes a file atomically. Tasks may write the same file at once: their bytes are equal.
 * @param name  unique among running tasks
 * Errors  those of the file system
 */
export async function publishFile(path: string, name: string, bytes: Uint8Array): Promise<void> {
  const own = `${path}.${name}`;
  const handle = await open(own, 'w');
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(own, path);
}
