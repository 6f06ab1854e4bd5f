import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { BACKGROUND } from '../sequence/residue-scales.js';
import { AMINO_ACIDS, BLOSUM62 } from '../sequence/substitution.js';
import { NO_AMINO_ACID, rowWeights, type HomologAlignment } from './alignment.js';

const KINDS = AMINO_ACIDS.length;
/** Columns over which the effective number of letters is averaged. */
const VARIETY_WINDOW = 15;
/** Effective number of letters at which observed letters and pseudocounts count alike. */
const PSEUDOCOUNT_VARIETY = 1.5;
/** Nats per unit of BLOSUM62, which is half a bit. Source: Altschul et al. 1997, ungapped, background of Robinson */
const LAMBDA = 0.3176;
const BALANCE_ROUNDS = 50;

/**
 * Estimates the amino-acid frequencies of each column. Pseudocounts from BLOSUM62 have a larger share where the rows
 * are less varied.
 *
 * Shape   float64 [length × 20] in the order of AMINO_ACIDS, row-major
 * Unit    frequencies; the sum of each row is 1
 * Range   0..1
 * Source  frequencies by Henikoff weights; a share 1 ÷ (1 + N ÷ 1.5) of pseudocounts, N = e^entropy of the letters,
 *         averaged over 15 columns; conditional probabilities of BLOSUM62 at λ = .3176
 */
export function homologProfile(alignment: HomologAlignment): Float64Array {
  const observed = observedFrequencies(alignment);
  const variety = smoothedVariety(observed);
  const profile = new Float64Array(observed.length);
  for (const [column, effective] of variety.entries()) {
    const share = 1 / (1 + effective / PSEUDOCOUNT_VARIETY);
    const start = column * KINDS;
    for (let letter = 0; letter < KINDS; letter += 1) {
      const frequency = observed[start + letter];
      if (frequency === 0) continue;
      profile[start + letter] += (1 - share) * frequency;
      for (let kind = 0; kind < KINDS; kind += 1) {
        profile[start + kind] += share * frequency * CONDITIONAL[letter * KINDS + kind];
      }
    }
  }
  return profile;
}

/**
 * Returns the weighted letter frequencies of each column, and the background frequencies for a column without letters.
 */
function observedFrequencies(alignment: HomologAlignment): Float64Array {
  const { length, rows } = alignment;
  const weights = rowWeights(alignment);
  const observed = new Float64Array(length * KINDS);
  for (const [index, row] of rows.entries()) {
    for (let column = 0; column < length; column += 1) {
      if (row[column] !== NO_AMINO_ACID) observed[column * KINDS + row[column]] += weights[index];
    }
  }
  for (let column = 0; column < length; column += 1) {
    const frequencies = observed.subarray(column * KINDS, (column + 1) * KINDS);
    const covered = frequencies.reduce((sum, frequency) => sum + frequency, 0);
    if (covered === 0) frequencies.set(BACKGROUND_SHARES);
    else for (let kind = 0; kind < KINDS; kind += 1) frequencies[kind] /= covered;
  }
  return observed;
}

/** Returns e^entropy of each column, averaged over the part of the window around it that lies within the protein. */
function smoothedVariety(observed: Float64Array): Float64Array {
  const length = observed.length / KINDS;
  const sums = new Float64Array(length + 1);
  for (let column = 0; column < length; column += 1) {
    let entropy = 0;
    for (let at = column * KINDS; at < (column + 1) * KINDS; at += 1) {
      if (observed[at] > 0) entropy -= observed[at] * Math.log(observed[at]);
    }
    sums[column + 1] = sums[column] + Math.exp(entropy);
  }
  const half = (VARIETY_WINDOW - 1) / 2;
  return Float64Array.from({ length }, (_, column) => {
    const [from, to] = [Math.max(0, column - half), Math.min(length, column + half + 1)];
    return (sums[to] - sums[from]) / (to - from);
  });
}

/**
 * Returns the log odds of a profile against the background frequencies p, each multiplied by √p. Rows are scaled to
 * unit length.
 * Shape   profile float64 [length × 20]; result float64 [length × 20], row-major
 * Unit    profile: frequencies > 0; result: dimensionless
 * Range   −1..1; a row of zeros stays zero
 */
export function unitLogOdds(profile: Float64Array): Float64Array {
  const rows = new Float64Array(profile.length);
  for (let start = 0; start < profile.length; start += KINDS) {
    let squares = 0;
    for (let kind = 0; kind < KINDS; kind += 1) {
      const value = Math.log(profile[start + kind] / BACKGROUND_SHARES[kind]) * ROOTS[kind];
      rows[start + kind] = value;
      squares += value * value;
    }
    const scale = squares === 0 ? 0 : 1 / Math.sqrt(squares);
    for (let kind = 0; kind < KINDS; kind += 1) rows[start + kind] *= scale;
  }
  return rows;
}

/**
 * Quantises a profile for the affine score: round(scale × frequency ÷ √background), at most 127.
 * Shape   profile float64 [length × 20]; result int8 [length × PROFILE_WIDTH], row-major (kernels.ts)
 * Unit    profile: frequencies; result: 1 ÷ scale of frequency ÷ √background
 * Range   0..127; the columns from 20 on are 0
 */
export function profileRows(profile: Float64Array, scale: number): Int8Array {
  const rows = new Int8Array((profile.length / KINDS) * PROFILE_WIDTH);
  for (let column = 0; column * KINDS < profile.length; column += 1) {
    for (let kind = 0; kind < KINDS; kind += 1) {
      const value = Math.round((scale * profile[column * KINDS + kind]) / ROOTS[kind]);
      rows[column * PROFILE_WIDTH + kind] = Math.min(127, value);
    }
  }
  return rows;
}

/** Robinson's background frequencies, which are published with five digits, scaled so that their sum is 1. */
const BACKGROUND_SHARES = shares(BACKGROUND);
const ROOTS = BACKGROUND_SHARES.map(Math.sqrt);

function shares(values: readonly number[]): Float64Array {
  const total = values.reduce((sum, value) => sum + value, 0);
  return Float64Array.from(values, (value) => value / total);
}

/** [letter × kind]: probability that a homolog has `kind` in a column where the protein has `letter`. */
const CONDITIONAL = conditionalProbabilities();

/** Scales BLOSUM62's joint probabilities until both marginals are the background, and divides each row by its sum. */
function conditionalProbabilities(): Float64Array {
  const joint = Float64Array.from({ length: KINDS * KINDS }, (_, at) => {
    const [first, second] = [Math.floor(at / KINDS), at % KINDS];
    return BACKGROUND_SHARES[first] * BACKGROUND_SHARES[second] * Math.exp(LAMBDA * BLOSUM62[first][second]);
  });
  const rowSums = (): Float64Array =>
    Float64Array.from({ length: KINDS }, (_, row) =>
      joint.subarray(row * KINDS, (row + 1) * KINDS).reduce((sum, value) => sum + value, 0),
    );
  for (let round = 0; round < BALANCE_ROUNDS; round += 1) {
    const factors = rowSums().map((sum, row) => Math.sqrt(BACKGROUND_SHARES[row] / sum));
    joint.forEach((value, at) => (joint[at] = value * factors[Math.floor(at / KINDS)] * factors[at % KINDS]));
  }
  const sums = rowSums();
  return joint.map((value, at) => value / sums[Math.floor(at / KINDS)]);
}
