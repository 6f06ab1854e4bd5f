import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../../../errors.js';
import { refuseFile } from '../../../../sequence/input-file.js';
import type { ProteinFormat } from '../protein-format.js';
import { MMCIF } from './mmcif.js';
import { PDB } from './pdb.js';

const STRUCTURE_NAME = /\.(?:(cif|mmcif)|pdb|ent)(?:\.(?:gz|zst|xz))?$/i;

/**
 * Lists the structure files of a folder and its subfolders, sorted by name; undefined if the path is not a folder.
 * Other files are ignored, because AlphaFold's archives also have confidences and alignments.
 * Errors  Refusal `file_not_found`; Refusal `invalid_input` for a folder without structures
 */
export async function structuresIn(path: string): Promise<readonly string[] | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return undefined;
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile() && STRUCTURE_NAME.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name))
      .sort((a, b) => (a < b ? -1 : 1));
    if (files.length > 0) return files;
  } catch (cause) {
    throw refuseFile(path, cause);
  }
  throw new Refusal(
    'invalid_input',
    `The folder ${path} has no structure file (.cif, .pdb or .ent, plain or compressed).`,
    { file: path },
  );
}

/** Returns the format of a structure file by its name. */
export function structureFormat(file: string): ProteinFormat {
  return STRUCTURE_NAME.exec(file)?.[1] === undefined ? PDB : MMCIF;
}

export function isStructure(format: ProteinFormat): boolean {
  return format === MMCIF || format === PDB;
}
