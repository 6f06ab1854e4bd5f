import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The output folder of config/console.mjs, beside the compiled code. */
const FOLDER = fileURLToPath(new URL('../../../console/', import.meta.url));

/** File names of the built console by role. Each name contains the hash of its bytes. */
export interface ConsoleFiles {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly reportScript: string;
  readonly manualScript: string;
  readonly manualStyle: string;
}

/** Returns undefined when the console was not built. */
export function consoleFileNames(): ConsoleFiles | undefined {
  const list = readConsoleFile('files.json');
  return list && (JSON.parse(list.toString('utf8')) as ConsoleFiles);
}

/** @param name  a name from consoleFileNames, never a caller's. Returns undefined when the file was not built */
export function readConsoleFile(name: string): Buffer | undefined {
  try {
    return readFileSync(join(FOLDER, name));
  } catch {
    return undefined;
  }
}
