import { basename } from 'node:path';
import { Refusal } from '../../../../errors.js';
import { FASTA_SEQUENCE_MAX_BYTES } from '../../../../limits.js';
import type { AttributeValue } from '../../../../release/release.js';
import { optionalFields, type SourceProtein } from '../../protein-source.js';

/** Fields of the proteins of a structure, in mmCIF and in PDB files. */
export const STRUCTURE_FIELDS = optionalFields([
  { name: 'name', type: 'string' },
  { name: 'organism', type: 'string' },
  { name: 'taxid', type: 'integer' },
  { name: 'gene', type: 'string' },
  { name: 'accession', type: 'string' },
  { name: 'structure', type: 'string' },
  { name: 'chain', type: 'string' },
  { name: 'chains', type: 'string_list' },
  // Range 0..100. Only for models, whose files store it as B factor.
  { name: 'mean_plddt', type: 'number' },
]);

/** Limit on letters of all chains; the largest structures have some hundred thousand. */
const MAX_CHARACTERS = 16 * FASTA_SEQUENCE_MAX_BYTES;
const LETTERS: Readonly<Record<string, string>> = {
  ALA: 'A',
  ARG: 'R',
  ASN: 'N',
  ASP: 'D',
  CYS: 'C',
  GLN: 'Q',
  GLU: 'E',
  GLY: 'G',
  HIS: 'H',
  ILE: 'I',
  LEU: 'L',
  LYS: 'K',
  MET: 'M',
  PHE: 'F',
  PRO: 'P',
  SER: 'S',
  THR: 'T',
  TRP: 'W',
  TYR: 'Y',
  VAL: 'V',
  // Selenomethionine, common in crystal structures, and the two rare amino acids.
  MSE: 'M',
  SEC: 'U',
  PYL: 'O',
};

/** Returns the one-letter code of a three-letter code; X if there is none. */
export function letterOf(residue: string): string {
  return LETTERS[residue] ?? 'X';
}

/** A protein of a structure, with all chains of the same sequence. */
export interface StructureChain {
  readonly chains: readonly string[];
  readonly sequence: string;
  readonly attributes?: Readonly<Record<string, AttributeValue | undefined>>;
}

/** Residues with an alpha carbon in a chain, in order. */
export interface Backbone {
  sequence: string;
  bFactorSum: number;
  bFactorMax: number;
}

/** Collects the residues of each chain from its alpha carbons, up to a limit over all chains. */
export function createBackbones() {
  const chains = new Map<string, Backbone & { last: string }>();
  let total = 0;
  return {
    /** Adds an alpha carbon. `residue` identifies the residue, so alternative locations count once. */
    add(chain: string, residue: string, letter: string, bFactor: number): void {
      const backbone = chains.get(chain) ?? { sequence: '', bFactorSum: 0, bFactorMax: 0, last: '' };
      if (backbone.last === residue) return;
      this.spend(chains.has(chain) ? 1 : 1 + chain.length);
      chains.set(chain, backbone);
      backbone.last = residue;
      backbone.sequence += letter;
      backbone.bFactorSum += bFactor;
      backbone.bFactorMax = Math.max(backbone.bFactorMax, bFactor);
    },
    get: (chain: string): Backbone | undefined => chains.get(chain),
    entries: (): Iterable<readonly [string, Backbone]> => chains.entries(),
    /** Errors  RangeError beyond the limit */
    spend(characters: number): void {
      total += characters;
      if (total > MAX_CHARACTERS) throw new RangeError('the structure has too many residues');
    },
  };
}

/** Merges chains of equal sequence, in order of first occurrence, and omits chains without amino acids. */
export function distinctChains(chains: Iterable<readonly [string, string]>): StructureChain[] {
  const bySequence = new Map<string, string[]>();
  for (const [chain, sequence] of chains) {
    if (/^X*$/.test(sequence)) continue;
    const same = bySequence.get(sequence);
    if (same === undefined) bySequence.set(sequence, [chain]);
    else same.push(chain);
  }
  return [...bySequence].map(([sequence, names]) => ({ chains: names, sequence }));
}

/** Returns the name of a structure from its file name, without folder, extensions and version. */
export function nameOfFile(file: string): string {
  return basename(file)
    .replace(/\.(gz|zst|xz)$/i, '')
    .replace(/\.(cif|mmcif|pdb|ent)$/i, '')
    .replace(/^(AF-\w+-F\d+)-model_v\d+$/, '$1');
}

export type Backbones = ReturnType<typeof createBackbones>;

/** Whether the file name is that of a model of AlphaFold or ColabFold. */
export function isModelName(name: string): boolean {
  return /^AF-\w+-F\d+|_(?:un)?relaxed_(?:rank|model)_/.test(name);
}

/**
 * Returns the proteins of a structure. A model of the AlphaFold database keeps its id, `AF-P12345-F1`. Other ids are
 * the structure's name with the first chain.
 */
export function structureProteins(
  structure: { readonly name: string; readonly file: string; readonly isModel: boolean },
  chains: readonly StructureChain[],
  backboneOf: (chain: string) => Backbone | undefined,
): SourceProtein[] {
  const { name, file, isModel } = structure;
  const accession = /^AF-(\w+)-F\d+$/.exec(name)?.[1];
  return chains.map(({ chains: [chain, ...others], sequence, attributes = {} }, at) => {
    const id = accession !== undefined && chains.length === 1 ? name : `${name}_${chain}`;
    const backbone = isModel ? backboneOf(chain) : undefined;
    const all: Readonly<Record<string, AttributeValue | undefined>> = {
      ...attributes,
      accession,
      structure: name,
      chain,
      chains: others.length === 0 ? undefined : [chain, ...others],
      mean_plddt: backbone === undefined ? undefined : meanPlddt(backbone),
    };
    const present = Object.entries(all).filter(
      (entry): entry is [string, AttributeValue] => entry[1] !== undefined,
    );
    const record = { header: id, text: sequence, place: { file, line: 1, record: at + 1 } };
    return { id, text: sequence, attributes: Object.fromEntries(present), record };
  });
}

/** Returns the mean pLDDT, rounded to hundredths. Some programs write it as a fraction of 1, which is scaled to 100. */
function meanPlddt({ sequence, bFactorSum, bFactorMax }: Backbone): number {
  const scale = bFactorMax <= 1 ? 100 : 1;
  return Math.round((scale * bFactorSum * 100) / sequence.length) / 100;
}

/** Returns the refusal of a malformed structure with its place; other errors unchanged. */
export function refuseStructure(file: string, line: number, cause: unknown): unknown {
  if (!(cause instanceof RangeError)) return cause;
  return new Refusal('invalid_input', `${file}, line ${line}: ${cause.message}.`, { file, line });
}
