import { Fault } from '../errors.js';
import { CigarWriter } from '../sequence/cigar.js';

/*
 * A protein and its relatives, as every source of relatives gives them: rows over the protein. What becomes of them
 * (weights, tokens, profiles) depends on nothing else.
 */

/** A relative as it stands over a protein. */
export interface Homolog {
  readonly id: string;
  /** E-value of the search that found it: unrelated proteins expected to score as well. */
  readonly eValue: number;
  /** Share of identical residues among the aligned pairs. */
  readonly identity: number;
  /** Share of the protein's residues between the alignment's ends. */
  readonly coverage: number;
  /** The round of the search that found it first; from 1. */
  readonly round: number;
  /** Upper-case letters of what is aligned, and of some residues on either side, which the encoder sees, too. */
  readonly residues: string;
  /** Zero-based: the first pair's place in the protein and in `residues`. */
  readonly start: number;
  readonly residueStart: number;
  /** `M`, `=`, `X` for pairs; `I` for residues of the protein that face a gap, `D` for those of the relative. */
  readonly cigar: string;
}

/** A relative as a search found it, with its place in the whole protein. */
export interface FoundHomolog extends Homolog {
  /** Zero-based: the first pair's place in the relative's own protein. */
  readonly targetStart: number;
  /** Residues of that protein. */
  readonly targetLength: number;
}

/** A protein with its relatives, nearest first. */
export interface HomologSet {
  readonly sequence: string;
  readonly homologs: readonly Homolog[];
}

/** Residues beside an aligned stretch that the encoder is shown: the rest of the protein's length, and these. */
const FLANK_RESIDUES = 6;

/** Where a stretch of a relative is aligned to a protein; zero-based, half-open. */
export interface AlignedStretch {
  readonly start: number;
  readonly end: number;
  readonly length: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/** The stretch with its surroundings, as far as the protein itself goes on beyond it. */
export function cropOf(
  target: string,
  { start, end, length, targetStart, targetEnd }: AlignedStretch,
): Pick<Homolog, 'residues' | 'residueStart'> {
  const from = Math.max(0, targetStart - start - FLANK_RESIDUES);
  const to = Math.min(target.length, targetEnd + (length - end) + FLANK_RESIDUES);
  return { residues: target.slice(from, to), residueStart: targetStart - from };
}

const STEP = /(\d*)([MXID=])/y;

/**
 * For each residue of the relative the protein's residue that it stands over, −1 for none.
 * Errors  Fault where the alignment leaves either of them
 */
export function columnsOf(homolog: Homolog, length: number): Int32Array {
  const { cigar, residues } = homolog;
  const columns = new Int32Array(residues.length).fill(-1);
  let [at, row] = [homolog.start, homolog.residueStart];
  STEP.lastIndex = 0;
  while (STEP.lastIndex < cigar.length) {
    const step = STEP.exec(cigar);
    if (step === null) throw new Fault(`The alignment with ${homolog.id} is no CIGAR.`);
    const count = step[1] === '' ? 1 : Number(step[1]);
    const [queryEnd, rowEnd] = [at + (step[2] === 'D' ? 0 : count), row + (step[2] === 'I' ? 0 : count)];
    if (queryEnd > length || rowEnd > residues.length) {
      throw new Fault(`The alignment with ${homolog.id} leaves its sequences.`);
    }
    if (step[2] === 'I' || step[2] === 'D') [at, row] = [queryEnd, rowEnd];
    while (row < rowEnd) columns[row++] = at++;
  }
  return columns;
}

/** The alignment's CIGAR with its pairs told apart: `=` for equal known residues, `X` for others. */
export function extendedCigar(homolog: Homolog, sequence: string): string {
  const { residues } = homolog;
  let [queryAt, at] = [homolog.start, homolog.residueStart];
  const written = new CigarWriter();
  for (const [, digits, kind] of homolog.cigar.matchAll(/(\d*)([MXID=])/g)) {
    const length = digits === '' ? 1 : Number(digits);
    if (kind === 'I' || kind === 'D') {
      written.gap(kind, length);
      if (kind === 'I') queryAt += length;
      else at += length;
      continue;
    }
    for (let step = 0; step < length; step += 1) written.pair(sequence[queryAt++], residues[at++]);
  }
  return written.toString();
}
