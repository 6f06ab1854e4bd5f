import type { FastaInput } from '../../../../sequence/fasta.js';
import type { SourceProtein } from '../../protein-source.js';
import { linesOf, type LinePlace, type ProteinFormat } from '../protein-format.js';
import {
  createBackbones,
  distinctChains,
  isModelName,
  letterOf,
  nameOfFile,
  refuseStructure,
  STRUCTURE_FIELDS,
  structureProteins,
} from './structure.js';

/**
 * The legacy PDB format with lines of 80 columns. Each chain has its sequence of SEQRES, resolved or not. A file
 * without SEQRES gives the residues of the first model's atoms.
 * Source  https://www.wwpdb.org/documentation/file-format-content/format33/v3.3.html
 */
export const PDB: ProteinFormat = {
  name: 'pdb',
  title: 'PDB',
  isRecognised: (head) =>
    /^(HEADER|TITLE|COMPND|EXPDTA|AUTHOR|REMARK|CRYST1|MODEL|PARENT|ATOM|HETATM) /.test(head),
  fields: STRUCTURE_FIELDS,
  read: readPdb,
};

const TITLE_MAX_CHARACTERS = 1_000;

async function* readPdb(input: FastaInput): AsyncGenerator<SourceProtein> {
  const place: LinePlace = { file: input.file, line: 0, record: 0 };
  const structure = createStructure(input.file);
  try {
    for await (const line of linesOf(input, place)) structure.line(line);
  } catch (cause) {
    throw refuseStructure(input.file, place.line, cause);
  }
  yield* structure.proteins();
}

function createStructure(file: string) {
  const backbones = createBackbones();
  const listed = new Map<string, string>();
  /** Standard residue of each modified residue. */
  const standard = new Map<string, string>();
  let name = nameOfFile(file);
  let [title, isModel, isFirstModel] = ['', isModelName(name), true];
  const letter = (residue: string): string => letterOf(standard.get(residue) ?? residue);
  const records: Readonly<Record<string, (line: string) => void>> = {
    HEADER: (line) => (name = /^[1-9]\w{3}$/.exec(line.slice(62, 66))?.[0] ?? name),
    'TITLE ': (line) => {
      if (title.length < TITLE_MAX_CHARACTERS) title += ` ${line.slice(10, 80).trim()}`;
      isModel ||= /ALPHAFOLD|COLABFOLD|ESMFOLD/i.test(title);
    },
    MODRES: (line) => {
      backbones.spend(6);
      standard.set(line.slice(12, 15).trim(), line.slice(24, 27).trim());
    },
    SEQRES: (line) => {
      const chain = line.slice(11, 12);
      const residues = line
        .slice(19, 70)
        .split(' ')
        .filter((residue) => residue !== '');
      backbones.spend(residues.length);
      listed.set(chain, (listed.get(chain) ?? '') + residues.map((residue) => `${residue} `).join(''));
    },
    'ATOM  ': (line) => addAtom(line, false),
    HETATM: (line) => addAtom(line, true),
    ENDMDL: () => (isFirstModel = false),
  };
  const addAtom = (line: string, isHetero: boolean): void => {
    // Alpha carbon. Calcium is written one column further left.
    if (!isFirstModel || line.slice(12, 16) !== ' CA ') return;
    const residue = line.slice(17, 20).trim();
    if (isHetero && letter(residue) === 'X') return;
    const chain = line.slice(21, 22).trim() || 'A';
    backbones.add(chain, line.slice(22, 27), letter(residue), Number(line.slice(60, 66)) || 0);
  };
  /** Applied at the end, because MODRES may follow SEQRES. */
  const sequenceOf = (residues: string): string => residues.trimEnd().split(' ').map(letter).join('');
  return {
    line(line: string): void {
      const record = line.slice(0, 6);
      if (Object.hasOwn(records, record)) records[record](line);
    },
    proteins(): SourceProtein[] {
      const chains =
        listed.size > 0
          ? [...listed].map(([chain, residues]) => [chain.trim() || 'A', sequenceOf(residues)] as const)
          : [...backbones.entries()].map(([chain, { sequence }]) => [chain, sequence] as const);
      const attributes = { name: title.trim() || undefined };
      const distinct = distinctChains(chains).map((chain) => ({ ...chain, attributes }));
      return structureProteins({ name, file, isModel }, distinct, (chain) => backbones.get(chain));
    },
  };
}
