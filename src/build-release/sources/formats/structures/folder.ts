import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../../../errors.js';
import { refuseFile } from '../../../../sequence/input-file.js';
import type { ProteinFormat } from '../protein-format.js';
import { MMCIF } from './mmcif.js';
import { PDB } from './pdb.js';

const STRUCTURE_NAME = /\.(?:(cif|mmcif)|pdb|ent)(?:\.(?:gz|zst|xz))?$/i;

/**
 * Files of structures in a folder and the folders in it, by name; undefined where the path is no folder. Other files
 * are left alone: AlphaFold's archives hold confidences and alignments besides.
 * Errors  Refusal `file_not_found`; `invalid_input` where there are none
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
    `The folder ${path} holds no structure: files that end in .cif, .pdb or .ent are expected, compressed or not.`,
    { file: path },
  );
}

/** Format of a structure whose file has this name. */
export function structureFormat(file: string): ProteinFormat {
  return STRUCTURE_NAME.exec(file)?.[1] === undefined ? PDB : MMCIF;
}

export function isStructure(format: ProteinFormat): boolean {
  return format === MMCIF || format === PDB;
}
