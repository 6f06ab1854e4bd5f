import type { ProteinFormat } from '../protein-format.js';
import { MMCIF } from './mmcif.js';
import { PDB } from './pdb.js';

const STRUCTURE_NAME = /\.(?:(cif|mmcif)|pdb|ent)(?:\.(?:gz|zst|xz))?$/i;

/** Returns the format of a structure file by its name; undefined for any other file. */
export function structureFormat(file: string): ProteinFormat | undefined {
  const name = STRUCTURE_NAME.exec(file);
  if (name === null) return undefined;
  return name[1] === undefined ? PDB : MMCIF;
}

export function isStructure(format: ProteinFormat): boolean {
  return format === MMCIF || format === PDB;
}
