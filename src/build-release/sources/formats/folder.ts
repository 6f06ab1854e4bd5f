import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../../errors.js';
import { refuseFile } from '../../../sequence/input-file.js';
import { formatOf } from './families/tar.js';
import type { ProteinFormat } from './protein-format.js';
import { structureFormat } from './structures/by-name.js';

/** A file whose format its name tells. */
export interface NamedFile {
  readonly path: string;
  readonly format: ProteinFormat;
}

/** The files of a folder that a build reads. */
export interface FolderFiles {
  readonly kind: 'structures' | 'alignments';
  readonly files: readonly NamedFile[];
}

/**
 * Lists the structures of a folder and its subfolders, or its alignments if it has no structure, sorted by name;
 * undefined if the path is not a folder. Other files are ignored, because AlphaFold's archives also have confidences
 * and alignments.
 * Errors  Refusal `file_not_found`; Refusal `invalid_input` for a folder without structures and alignments
 */
export async function filesIn(path: string): Promise<FolderFiles | undefined> {
  try {
    // A name that is not there may be that of an HH-suite database.
    const status = await stat(path).catch(() => undefined);
    if (status?.isDirectory() !== true) return undefined;
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort((a, b) => (a < b ? -1 : 1));
    const structures = named(files, structureFormat);
    if (structures.length > 0) return { kind: 'structures', files: structures };
    const alignments = named(files, formatOf);
    if (alignments.length > 0) return { kind: 'alignments', files: alignments };
  } catch (cause) {
    throw refuseFile(path, cause);
  }
  throw new Refusal(
    'invalid_input',
    `The folder ${path} has no structure file (.cif, .pdb or .ent) and no alignment (.a3m, .sto, .stk or .hmm), ` +
      'plain or compressed.',
    { file: path },
  );
}

function named(
  paths: readonly string[],
  formatBy: (path: string) => ProteinFormat | undefined,
): readonly NamedFile[] {
  return paths.flatMap((path) => {
    const format = formatBy(path);
    return format === undefined ? [] : [{ path, format }];
  });
}
