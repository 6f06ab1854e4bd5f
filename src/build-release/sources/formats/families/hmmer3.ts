import type { Refusal } from '../../../../errors.js';
import { PROTEIN_MAX_RESIDUES } from '../../../../limits.js';
import type { FastaPlace } from '../../../../sequence/fasta.js';
import { AMINO_ACIDS } from '../../../../sequence/substitution.js';
import type { SourceProtein } from '../../protein-source.js';
import { linesOf, placeNow, refuseAt, type LinePlace, type ProteinFormat } from '../protein-format.js';
import {
  FAMILY_FIELDS,
  familyProtein,
  readThreshold,
  setText,
  type FamilyAttributes,
} from './family-fields.js';

const HEAD = /^HMMER3\/[a-f]\b/;
const KINDS = AMINO_ACIDS.length;
/** Smallest frequency, because the log odds of 0 are infinite. */
const LEAST_FREQUENCY = 1e-5;
const HEADER_TAGS: ReadonlySet<string> = new Set(['NAME', 'ACC', 'DESC', 'LENG', 'CONS', 'NSEQ', 'EFFN']);
const PROBABILITY = /^(\d+(\.\d+)?|\*)$/;

/**
 * Profile HMMs of HMMER3 as text, one or more in a file, as Pfam-A.hmm. Match emissions are the profile. The sequence
 * is the consensus line in upper case, or the most frequent residues if the file has no such line. Insertions and
 * transitions are not used.
 * Source  HMMER User's Guide 3.3, "HMMER profile HMM files"
 */
export const HMMER3: ProteinFormat = {
  name: 'hmmer3',
  title: 'HMMER3',
  hasFamilies: true,
  isRecognised: (head) => HEAD.test(head),
  fields: FAMILY_FIELDS,
  async *read(input) {
    const place: LinePlace = { file: input.file, line: 0, record: 0 };
    let open: OpenModel | undefined;
    for await (const line of linesOf(input, place, 'latin1')) {
      if (open === undefined) {
        if (line.trim() === '') continue;
        if (!HEAD.test(line)) throw refuseLine(place, 'a model that begins with "HMMER3/" is expected');
        place.record += 1;
        open = openModel(placeNow(place));
      } else if (line.startsWith('//')) {
        yield finish(open, place);
        open = undefined;
      } else readLine(line, place, open);
    }
    if (open !== undefined) throw refuseLine(place, 'the file ends within a model, before its "//"');
    if (place.record === 0) throw refuseLine(place, 'there is no model in it');
  },
};

interface OpenModel {
  readonly place: FastaPlace;
  readonly attributes: FamilyAttributes;
  readonly frequencies: number[];
  /** Header values by tag. */
  readonly header: Map<string, string>;
  consensus: string;
  isBody: boolean;
}

function openModel(place: FastaPlace): OpenModel {
  return { place, attributes: {}, frequencies: [], header: new Map(), consensus: '', isBody: false };
}

function readLine(line: string, place: LinePlace, open: OpenModel): void {
  const cells = line.trim().split(/\s+/);
  if (open.isBody) {
    // Lines of insertions, transitions and COMPO do not begin with the number of a node followed by 20 emissions.
    if (/^\d+$/.test(cells[0]) && cells.length > KINDS) readNode(cells, place, open);
    return;
  }
  const [tag] = cells;
  const value = line.trim().slice(tag.length).trim();
  if (tag === 'HMM') {
    if (cells.slice(1).join('') !== AMINO_ACIDS_OF_HMMER)
      throw refuseLine(place, 'the model is not of amino acids, or its columns have another order');
    open.isBody = true;
  } else if (tag === 'GA' || tag === 'TC' || tag === 'NC') readThreshold(tag, value, open.attributes);
  else if (HEADER_TAGS.has(tag)) open.header.set(tag, value);
}

/** Column order of amino acids in HMMER. */
const AMINO_ACIDS_OF_HMMER = 'ACDEFGHIKLMNPQRSTVWY';
const PLACES = [...AMINO_ACIDS_OF_HMMER].map((letter) => AMINO_ACIDS.indexOf(letter));

function readNode(cells: readonly string[], place: LinePlace, open: OpenModel): void {
  const node = open.consensus.length + 1;
  if (Number(cells[0]) !== node) throw refuseLine(place, `the match line of node ${node} is expected`);
  if (node > PROTEIN_MAX_RESIDUES)
    throw refuseLine(place, `a model has at most ${PROTEIN_MAX_RESIDUES} nodes`);
  const emissions = new Array<number>(KINDS).fill(0);
  for (let column = 0; column < KINDS; column += 1) {
    const cell = cells[column + 1];
    if (!PROBABILITY.test(cell))
      throw refuseLine(place, `${JSON.stringify(cell.slice(0, 20))} is not a negative log probability`);
    emissions[PLACES[column]] = Math.max(LEAST_FREQUENCY, cell === '*' ? 0 : Math.exp(-Number(cell)));
  }
  const total = emissions.reduce((sum, frequency) => sum + frequency, 0);
  for (const frequency of emissions) open.frequencies.push(Number((frequency / total).toPrecision(6)));
  // Behind the emissions: MAP, and from 3/e on CONS, RF, MM, CS.
  const letter = (cells[KINDS + 2] ?? '-').toUpperCase();
  const hasConsensus = open.header.get('CONS') === 'yes' && /^[A-Z]$/.test(letter);
  open.consensus += hasConsensus ? letter : AMINO_ACIDS[emissions.indexOf(Math.max(...emissions))];
}

function finish(
  { place, attributes, frequencies, header, consensus }: OpenModel,
  end: LinePlace,
): SourceProtein {
  const name = header.get('NAME');
  if (name === undefined || name === '') throw refuseLine(end, 'the model has no NAME');
  if (header.get('LENG') !== String(consensus.length)) {
    const expected = (header.get('LENG') ?? 'none').slice(0, 20);
    throw refuseLine(end, `the model has ${consensus.length} nodes, and its LENG is ${expected}`);
  }
  const accession = header.get('ACC') ?? '';
  setText(attributes, 'name', name);
  setText(attributes, 'accession', accession);
  setText(attributes, 'description', header.get('DESC') ?? '');
  const members = Number(header.get('NSEQ') ?? 1);
  const effective = Number(header.get('EFFN') ?? members);
  const sequenceCount = Number.isSafeInteger(members) && members > 0 ? members : 1;
  const effectiveSequences = Number.isFinite(effective) ? Math.max(1, effective) : 1;
  return familyProtein({
    id: accession === '' ? name : accession,
    consensus,
    family: { profile: { frequencies, sequenceCount, effectiveSequences } },
    attributes: { ...attributes, member_count: sequenceCount },
    place,
  });
}

function refuseLine(place: LinePlace, problem: string): Refusal {
  return refuseAt(place, problem, 'HMMER3');
}
