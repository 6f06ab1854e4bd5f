import { basename } from 'node:path';
import { Refusal } from '../../../../errors.js';
import { FASTA_SEQUENCE_MAX_BYTES } from '../../../../limits.js';
import type { AttributeValue } from '../../../../release/release.js';
import { optionalFields, type SourceProtein } from '../../protein-source.js';

/** What a structure tells of its proteins, in mmCIF and in PDB files alike. */
export const STRUCTURE_FIELDS = optionalFields([
  { name: 'name', type: 'string' },
  { name: 'organism', type: 'string' },
  { name: 'taxid', type: 'integer' },
  { name: 'gene', type: 'string' },
  { name: 'accession', type: 'string' },
  { name: 'structure', type: 'string' },
  { name: 'chain', type: 'string' },
  { name: 'chains', type: 'string_list' },
  // From 0 to 100; of models only, whose files keep it where others keep B factors.
  { name: 'mean_plddt', type: 'number' },
]);

/** Letters of all chains of the largest structures are some hundred thousand. */
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
  // Seen as often as these: selenomethionine for crystallographers, and the rare two.
  MSE: 'M',
  SEC: 'U',
  PYL: 'O',
};

/** Letter of a residue by its three; X for one that has none. */
export function letterOf(residue: string): string {
  return LETTERS[residue] ?? 'X';
}

/** A protein of a structure; chains that are the same protein are one. */
export interface StructureChain {
  readonly chains: readonly string[];
  readonly sequence: string;
  readonly attributes?: Readonly<Record<string, AttributeValue | undefined>>;
}

/** Alpha carbons of a chain, in their order. */
export interface Backbone {
  sequence: string;
  bFactorSum: number;
  bFactorMax: number;
}

/** Backbones by chain: what is left of the atoms, and counts towards the bound of all that is kept. */
export function createBackbones() {
  const chains = new Map<string, Backbone & { last: string }>();
  let kept = 0;
  return {
    /** `residue` tells the residue from its neighbours: alternative places of one atom count once. */
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
    /** Errors  RangeError beyond the bound */
    spend(characters: number): void {
      kept += characters;
      if (kept > MAX_CHARACTERS) throw new RangeError('it has more residues than any structure has');
    },
  };
}

/** Chains of equal sequence as one, in the order of the first of each; those without any amino acid are left out. */
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

/** Name of a structure that does not tell it: that of its file, without folder, endings and version. */
export function nameOfFile(file: string): string {
  return basename(file)
    .replace(/\.(gz|zst|xz)$/i, '')
    .replace(/\.(cif|mmcif|pdb|ent)$/i, '')
    .replace(/^(AF-\w+-F\d+)-model_v\d+$/, '$1');
}

export type Backbones = ReturnType<typeof createBackbones>;

/** Whether a file of this name is a model of AlphaFold or ColabFold. */
export function isModelName(name: string): boolean {
  return /^AF-\w+-F\d+|_(?:un)?relaxed_(?:rank|model)_/.test(name);
}

/**
 * Proteins of one structure. The id of a model of the AlphaFold database is its own, `AF-P12345-F1`; of others it is
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

/** Some programs write shares of 1. Rounded to hundredths, as the files have them. */
function meanPlddt({ sequence, bFactorSum, bFactorMax }: Backbone): number {
  const scale = bFactorMax <= 1 ? 100 : 1;
  return Math.round((scale * bFactorSum * 100) / sequence.length) / 100;
}

/** A structure that breaks a bound or a rule of its format, in a sentence with its place. */
export function refuseStructure(file: string, line: number, cause: unknown): unknown {
  if (!(cause instanceof RangeError)) return cause;
  return new Refusal('invalid_input', `${file}, line ${line}: ${cause.message}.`, { file, line });
}
