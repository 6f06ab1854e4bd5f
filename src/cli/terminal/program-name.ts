import { realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGE_FOLDER = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..', '..');

/**
 * Returns the word that starts this installation in a shell: `gloaming` if the first program of that name in PATH is
 * that of this installation, else the absolute path of bin/gloaming.
 */
export function programName(
  { PATH = '' }: Readonly<Record<string, string | undefined>>,
  packageFolder = PACKAGE_FOLDER,
): string {
  const program = join(packageFolder, 'bin', 'gloaming');
  const own = [program, join(packageFolder, 'dist', 'src', 'cli', 'main.js')].map(realPathOf);
  const [first] = PATH.split(delimiter).flatMap((folder) => realPathOf(join(folder, 'gloaming')) ?? []);
  if (first !== undefined && own.includes(first)) return 'gloaming';
  return /^[\w./-]+$/.test(program) ? program : `'${program.replaceAll("'", `'\\''`)}'`;
}

/** Returns the path without links; undefined if there is no such file. */
function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
