import type { FastaInput } from '../../../../sequence/fasta.js';
import type { SourceProtein } from '../../protein-source.js';
import { linesOf, type LinePlace, type ProteinFormat } from '../protein-format.js';
import { createCifReader, type CifRow } from './cif-rows.js';
import {
  createBackbones,
  distinctChains,
  isModelName,
  letterOf,
  nameOfFile,
  refuseStructure,
  STRUCTURE_FIELDS,
  structureProteins,
  type Backbones,
  type StructureChain,
} from './structure.js';

/**
 * mmCIF of the PDB and of models. The proteins are the full sequences of the polypeptide entities, resolved or not. A
 * file without entities gives the residues of its atoms.
 * Source  https://mmcif.wwpdb.org/dictionaries/mmcif_pdbx_v50.dic
 */
export const MMCIF: ProteinFormat = {
  name: 'mmcif',
  title: 'mmCIF',
  isRecognised: (head) => /^\s*(#.*\s+)*data_\S*\s/.test(head),
  fields: STRUCTURE_FIELDS,
  read: readMmcif,
};

async function* readMmcif(input: FastaInput): AsyncGenerator<SourceProtein> {
  const place: LinePlace = { file: input.file, line: 0, record: 0 };
  const structure = createStructure(input.file);
  const reader = createCifReader((category, row) => structure.row(category, row));
  try {
    for await (const line of linesOf(input, place)) reader.line(line);
    reader.end();
  } catch (cause) {
    throw refuseStructure(input.file, place.line, cause);
  }
  yield* structure.proteins();
}

interface Entity {
  isPolypeptide?: boolean;
  chains?: readonly string[];
  /** Sequence as written in the file, or assembled from its residues. */
  written?: string;
  residues: string;
  /** Place of the latest residue. */
  place?: string;
  name?: string;
  organism?: string;
  taxid?: number;
}

type RowReaders = Readonly<Record<string, (row: CifRow) => void>>;

function createStructure(file: string) {
  const backbones = createBackbones();
  const entities = createEntities(backbones);
  let name = nameOfFile(file);
  let isModel = isModelName(name);
  const readers: RowReaders = {
    ...entities.readers,
    entry: (row) => (name = row('id') ?? name),
    ma_qa_metric: () => (isModel = true),
    atom_site: createAtomReader(backbones),
  };
  return {
    row(category: string, row: CifRow): void {
      if (Object.hasOwn(readers, category)) readers[category](row);
    },
    proteins(): SourceProtein[] {
      const seen = [...backbones.entries()].map(([chain, { sequence }]) => [chain, sequence] as const);
      const chains = entities.polypeptides() ?? distinctChains(seen);
      return structureProteins({ name, file, isModel }, chains, (chain) => backbones.get(chain));
    },
  };
}

/** Collects the entities that the file lists, resolved or not. */
function createEntities(backbones: Backbones) {
  const entities = new Map<string, Entity>();
  let gene: string | undefined;
  const entityOf = (id = ''): Entity => {
    const existing = entities.get(id);
    if (existing !== undefined) return existing;
    const entity: Entity = { residues: '' };
    backbones.spend(1 + id.length);
    entities.set(id, entity);
    return entity;
  };
  const describe = (id: string | undefined, organism: string | undefined, taxid = ''): void => {
    const entity = entityOf(id);
    entity.organism ??= organism;
    if (/^\d{1,9}$/.test(taxid)) entity.taxid ??= Number(taxid);
  };
  const readers: RowReaders = {
    entity: (row) => (entityOf(row('id')).name = row('pdbx_description')?.trim()),
    entity_poly: (row) => readPolymer(row, entityOf(row('entity_id')), backbones),
    entity_poly_seq: (row) => readResidue(row, entityOf(row('entity_id')), backbones),
    entity_src_gen: (row) => {
      const taxid = row('pdbx_gene_src_ncbi_taxonomy_id');
      describe(row('entity_id'), row('pdbx_gene_src_scientific_name'), taxid);
    },
    entity_src_nat: (row) =>
      describe(row('entity_id'), row('pdbx_organism_scientific'), row('pdbx_ncbi_taxonomy_id')),
    ma_target_ref_db_details: (row) => {
      gene ??= row('gene_name');
      describe(row('target_entity_id'), row('organism_scientific'), row('ncbi_taxonomy_id'));
    },
  };
  return {
    readers,
    /** Undefined if the file lists no entities. */
    polypeptides(): StructureChain[] | undefined {
      const listed = [...entities.values()].filter(({ isPolypeptide }) => isPolypeptide !== undefined);
      if (listed.length === 0) return undefined;
      const proteins = listed.filter(({ isPolypeptide }) => isPolypeptide);
      return proteins
        .map(({ chains = [], written, residues, name, organism, taxid }) => ({
          chains: chains.length === 0 ? ['A'] : chains,
          sequence: written ?? residues,
          attributes: { name, organism, taxid, gene: proteins.length === 1 ? gene : undefined },
        }))
        .filter(({ sequence }) => !/^X*$/.test(sequence));
    },
  };
}

function readPolymer(row: CifRow, entity: Entity, backbones: Backbones): void {
  const strands = row('pdbx_strand_id') ?? '';
  entity.isPolypeptide = row('type')?.startsWith('polypeptide') === true;
  entity.chains = strands.split(/[\s,]+/).filter((chain) => chain !== '');
  entity.written = row('pdbx_seq_one_letter_code_can')?.replace(/\s+/g, '');
  backbones.spend((entity.written ?? '').length + strands.length);
}

/** Of several residues at one position the first counts, as in the written sequence. */
function readResidue(row: CifRow, entity: Entity, backbones: Backbones): void {
  if (entity.place === row('num')) return;
  entity.place = row('num');
  entity.residues += letterOf(row('mon_id') ?? '');
  backbones.spend(1);
}

/** Collects the alpha carbons of the first model. Calcium, also named CA, has no position in a sequence. */
function createAtomReader(backbones: Backbones): (row: CifRow) => void {
  let firstModel: string | undefined;
  return (row) => {
    const place = row('label_seq_id') ?? row('auth_seq_id');
    if (row('label_atom_id') !== 'CA' || place === undefined) return;
    const model = row('pdbx_PDB_model_num') ?? '';
    firstModel ??= model;
    const letter = letterOf(row('label_comp_id') ?? '');
    if (model !== firstModel || (row('group_PDB') === 'HETATM' && letter === 'X')) return;
    const chain = row('auth_asym_id') ?? row('label_asym_id') ?? 'A';
    const residue = `${place} ${row('pdbx_PDB_ins_code') ?? ''}`;
    backbones.add(chain, residue, letter, Number(row('B_iso_or_equiv')) || 0);
  };
}
