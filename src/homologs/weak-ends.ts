import { alignedRuns, cigarRuns, spanOf } from '../sequence/cigar.js';
import { BACKGROUND } from '../sequence/residue-scales.js';
import { BLOSUM62 } from '../sequence/substitution.js';
import { alignHomologSet, CODES, NO_AMINO_ACID } from './alignment.js';
import { extendedCigar, type FoundHomolog, type HomologSet } from './homolog-set.js';
import { homologProfile } from './profile.js';

/** Scores by which a search aligned a homolog. Unit: half a bit */
export interface EndScores {
  /** Substitution score of a residue of the protein and a letter of the homolog. */
  readonly scoreOf: (column: number, letter: string) => number;
  /** What a gap takes off, whatever its length: a domain may be inserted between two homologous parts. */
  readonly gap: number;
  /** A weak end begins where the score falls by as much, at a gap or at residues that differ. */
  readonly leastFall: number;
  /** The score of an end that is not weak rises by as much. */
  readonly leastGain: number;
}

/** The gap is the gap opening of mmseqs. By chance, one end in 350 gains as much as the least gain (λ = .267). */
const OF_SEQUENCES = { gap: 11, leastFall: 11, leastGain: 22 };
/**
 * The profiles of mmseqs have gap costs by column, which take 6 to 10 off the rows of remote homologs. These rows are
 * short stretches between gaps, of which stricter bounds leave little.
 */
const OF_PROFILES = { gap: 6, leastFall: 22, leastGain: 8 };
/** Score of a pair with a letter that is no amino acid, as BLOSUM62 has it. */
const UNKNOWN_SCORE = -1;

/** Returns the scores of BLOSUM62 for a protein. */
export function blosumScores(sequence: string): EndScores {
  const own = Uint8Array.from(sequence, codeOf);
  const scoreOf = (column: number, letter: string): number => {
    const other = codeOf(letter);
    const isKnown = own[column] !== NO_AMINO_ACID && other !== NO_AMINO_ACID;
    return isKnown ? BLOSUM62[own[column]][other] : UNKNOWN_SCORE;
  };
  return { scoreOf, ...OF_SEQUENCES };
}

/**
 * Returns the log odds of the profile of a protein and its homologs.
 * Errors  Fault where an alignment runs past the end of its sequences
 */
export function profileScores(homologs: HomologSet): EndScores {
  const scores = homologProfile(alignHomologSet(homologs)).map(
    (frequency, at) => 2 * Math.log2(frequency / BACKGROUND[at % NO_AMINO_ACID]),
  );
  const scoreOf = (column: number, letter: string): number => {
    const other = codeOf(letter);
    return other === NO_AMINO_ACID ? UNKNOWN_SCORE : scores[column * NO_AMINO_ACID + other];
  };
  return { scoreOf, ...OF_PROFILES };
}

function codeOf(letter: string): number {
  return CODES[letter.charCodeAt(0)] ?? NO_AMINO_ACID;
}

/** The steps of an alignment: residue pairs, and residues beside gaps. */
interface Steps {
  /** `M`, `I` or `D` of each step. */
  readonly operations: string;
  readonly scores: Float64Array;
}

/**
 * Returns a homolog without the weak ends of its alignment. Beside a domain that both proteins have, a local alignment
 * goes on through what is alike by chance. In a profile, each homolog with the same neighbour repeats this, which is
 * homologous over-extension (Gonzalez & Pearson 2010). An end is left out from where the score falls by `leastFall`,
 * if it never rises above that point by `leastGain`. `residues` stays, so that what is left out becomes context.
 * @param sequence  the protein
 * Range   undefined if what is left scores less than an end that is not weak
 */
export function withoutWeakEnds(
  homolog: FoundHomolog,
  sequence: string,
  scores: EndScores,
): FoundHomolog | undefined {
  const { operations, scores: steps } = stepsOf(homolog, scores);
  let end = steps.length - weakCount(steps.toReversed(), scores);
  let start = weakCount(steps.subarray(0, end), scores);
  // The rest of a gap that an end was cut in goes with it.
  while (start < end && operations[start] !== 'M') start += 1;
  while (end > start && operations[end - 1] !== 'M') end -= 1;
  if (start === 0 && end === steps.length) return homolog;
  if (steps.subarray(start, end).reduce((sum, score) => sum + score, 0) < scores.leastGain) return undefined;
  const lost = operations.slice(0, start);
  const [columns, residues] = [residuesOf(lost, 'D'), residuesOf(lost, 'I')];
  const cut = {
    ...homolog,
    start: homolog.start + columns,
    residueStart: homolog.residueStart + residues,
    targetStart: homolog.targetStart + residues,
  };
  return measured(cut, operations.slice(start, end), sequence);
}

/** Number of steps of one kind or of pairs. @param gap  the kind that is not counted */
function residuesOf(operations: string, gap: 'I' | 'D'): number {
  return operations.replaceAll(gap, '').length;
}

/** Returns the steps of an alignment. The first residue of a gap has all of its cost. */
function stepsOf({ cigar, residues, residueStart, start }: FoundHomolog, { scoreOf, gap }: EndScores): Steps {
  const runs = alignedRuns(cigar);
  const operations = runs.map(({ operation, length }) => operation.repeat(length)).join('');
  const scores = new Float64Array(operations.length);
  let [column, at, step] = [start, residueStart, 0];
  for (const { operation, length } of runs) {
    if (operation === 'M') {
      for (const end = step + length; step < end; step += 1) scores[step] = scoreOf(column++, residues[at++]);
      continue;
    }
    if (length > 0) scores[step] = -gap;
    step += length;
    if (operation === 'I') column += length;
    else at += length;
  }
  return { operations, scores };
}

/** Returns how many of the first steps are a weak end. */
function weakCount(steps: Float64Array, { leastGain, leastFall }: EndScores): number {
  // Seen from the point up to which the end reaches: how far the score rises above it, and falls below it.
  let [rise, fall, count] = [0, 0, 0];
  for (let at = 0; at < steps.length; at += 1) {
    const score = steps[at];
    rise = Math.max(0, rise + score);
    fall = Math.min(0, fall + score);
    if (score < 0 && rise < leastGain && fall <= -leastFall) count = at + 1;
  }
  return count;
}

/** Returns the homolog with these steps, and their coverage and identity. */
function measured(homolog: FoundHomolog, operations: string, sequence: string): FoundHomolog {
  const cigar = extendedCigar({ ...homolog, cigar: operations }, sequence);
  const runs = cigarRuns(cigar);
  const identical = runs.reduce((sum, { operation, length }) => sum + (operation === '=' ? length : 0), 0);
  const pairs = operations.replaceAll(/[ID]/g, '').length;
  return { ...homolog, cigar, coverage: spanOf(runs).query / sequence.length, identity: identical / pairs };
}
