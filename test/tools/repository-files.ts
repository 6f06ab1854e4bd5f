import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { ROOT } from './paths.js';

/** Returns the sorted paths below a folder, relative to the root of the repository, whose file names match. */
export function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter((path) => !path.includes('node_modules'))
    .sort();
}

/** Returns the text of a file. @param path relative to the root of the repository */
export function readText(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
