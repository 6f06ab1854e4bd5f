import { Fault } from '../errors.js';
import { alignedRuns, CigarWriter, readRuns } from '../sequence/cigar.js';

/*
 * A protein and its homologs as every finder returns them: pairwise alignments to the protein. Sequence weights,
 * profiles and tokens are computed from these values alone.
 */

/** A homolog with its alignment to a protein. */
export interface Homolog {
  readonly id: string;
  /** E-value in the search that found the homolog: expected number of unrelated proteins that score as well. */
  readonly eValue: number;
  /** Share of identical residues among the aligned pairs, 0..1. */
  readonly identity: number;
  /** Share of the protein's residues between the first and the last aligned pair, 0..1. */
  readonly coverage: number;
  /** Search round that found the homolog; ≥ 1. */
  readonly round: number;
  /** Upper-case letters of the aligned stretch and of its flanks, which the encoder reads as context. */
  readonly residues: string;
  /** Zero-based position of the first aligned pair in the protein. */
  readonly start: number;
  /** Zero-based position of the first aligned pair in `residues`. */
  readonly residueStart: number;
  /** `M`, `=` and `X` are pairs, `I` residues of the protein beside a gap, `D` residues of the homolog beside a gap. */
  readonly cigar: string;
}

/** A homolog with the position of its alignment in the whole target protein. */
export interface FoundHomolog extends Homolog {
  /** Zero-based position of the first aligned pair in the target protein. */
  readonly targetStart: number;
  /** Length of the target protein in residues. */
  readonly targetLength: number;
}

/** A protein with its homologs in ascending order of E-value. */
export interface HomologSet {
  readonly sequence: string;
  readonly homologs: readonly Homolog[];
}

/** A profile from a file, such as the match emissions of a hidden Markov model. */
export interface GivenProfile {
  /**
   * Shape  [length × 20] in the order of AMINO_ACIDS, row-major
   * Unit   frequencies; the sum of each row is 1
   * Range  > 0
   */
  readonly frequencies: ArrayLike<number>;
  /** Number of sequences that the profile was made of. ≥ 1 */
  readonly sequenceCount: number;
  /** Effective number of these sequences. ≥ 1 */
  readonly effectiveSequences: number;
}

/** What a family adds to its consensus: its selected members, or a profile that was given in their place. */
export type Family = { readonly homologs: readonly Homolog[] } | { readonly profile: GivenProfile };

/** Residues that a flank has beyond the protein's own unaligned end. */
const FLANK_RESIDUES = 6;

/** Ranges of an alignment in the protein and in the target; zero-based, half-open. */
export interface AlignedStretch {
  readonly start: number;
  readonly end: number;
  /** Length of the protein in residues. */
  readonly length: number;
  readonly targetStart: number;
  readonly targetEnd: number;
}

/**
 * Cuts the aligned stretch with its flanks out of the target. A flank is FLANK_RESIDUES longer than the protein's end.
 */
export function cropOf(
  target: string,
  { start, end, length, targetStart, targetEnd }: AlignedStretch,
): Pick<Homolog, 'residues' | 'residueStart'> {
  const from = Math.max(0, targetStart - start - FLANK_RESIDUES);
  const to = Math.min(target.length, targetEnd + (length - end) + FLANK_RESIDUES);
  return { residues: target.slice(from, to), residueStart: targetStart - from };
}

/**
 * Returns the protein's residue that is aligned to each residue of the homolog.
 * Shape   int32 [residues of the homolog]
 * Unit    zero-based positions in the protein; −1 for a residue without an aligned pair
 * Range   −1..length − 1
 * Errors  Fault where the CIGAR is malformed or runs past the end of either sequence
 * @param length  residues of the protein
 */
export function columnsOf(homolog: Homolog, length: number): Int32Array {
  const { cigar, residues } = homolog;
  const columns = new Int32Array(residues.length).fill(-1);
  let [at, row] = [homolog.start, homolog.residueStart];
  readRuns(cigar, (letter, count = 1) => {
    const isGap = letter === 'I' || letter === 'D';
    if (!isGap && letter !== 'M' && letter !== '=' && letter !== 'X') {
      throw new Fault(`The alignment with ${homolog.id} is not a CIGAR.`);
    }
    const [queryEnd, rowEnd] = [at + (letter === 'D' ? 0 : count), row + (letter === 'I' ? 0 : count)];
    if (queryEnd > length || rowEnd > residues.length) {
      throw new Fault(`The alignment with ${homolog.id} runs past the end of its sequences.`);
    }
    if (isGap) [at, row] = [queryEnd, rowEnd];
    while (row < rowEnd) columns[row++] = at++;
  });
  return columns;
}

/** Returns the CIGAR with `=` for pairs of equal known residues and `X` for all other pairs. */
export function extendedCigar(homolog: Homolog, sequence: string): string {
  const { residues } = homolog;
  let [queryAt, at] = [homolog.start, homolog.residueStart];
  const written = new CigarWriter();
  for (const { operation, length } of alignedRuns(homolog.cigar)) {
    if (operation === 'M') {
      for (let step = 0; step < length; step += 1) written.pair(sequence[queryAt++], residues[at++]);
    } else {
      written.gap(operation, length);
      if (operation === 'I') queryAt += length;
      else at += length;
    }
  }
  return written.toString();
}
