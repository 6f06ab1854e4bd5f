import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where config/console.mjs puts what it builds: beside the compiled code. */
const FOLDER = fileURLToPath(new URL('../../../console/', import.meta.url));

/** Names of what was built, by what it is; the hash of its bytes is part of each. */
export interface ConsoleFiles {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly reportScript: string;
}

/** Undefined where nothing was built. */
export function consoleFileNames(): ConsoleFiles | undefined {
  const list = readConsoleFile('files.json');
  return list && (JSON.parse(list.toString('utf8')) as ConsoleFiles);
}

/** @param name one of ours, never a caller's. Undefined where it was not built */
export function readConsoleFile(name: string): Buffer | undefined {
  try {
    return readFileSync(join(FOLDER, name));
  } catch {
    return undefined;
  }
}
