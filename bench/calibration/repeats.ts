import { AMINO_ACIDS, BLOSUM62 } from '../../src/sequence/substitution.js';

/*
 * Finds low-complexity regions and tandem repeats of a short period. A hidden Markov model is in the background or in a
 * repeat of period 1..50. In a repeat each residue resembles the residue one period before.
 *
 *     background ──── START · share of the period ───▶ repeat of period p      emits BLOSUM62's likelihood ratio of
 *          ▲                                               │      ▲            a residue and the one p before it
 *          └───────────────── END ─────────────────────────┘      └─ 1 − END
 *
 * Source  Frith 2011, "A new repeat-masking method enables specific detection of homologous sequences"
 */

const MAX_PERIOD = 50;
/** Probability per residue that a repeat starts, and that it ends. */
const START = 0.005;
const END = 0.05;
/** Probability of a period ÷ probability of the period one shorter. */
const PERIOD_DECAY = 0.9;
/** Number of letter indices; the index is the low five bits of a character. */
const LETTER_COUNT = 32;
/** Padding before the first residue, where no repeat can have begun. */
const NO_LETTER = 0;

/**
 * Returns for each residue the probability that it continues a repeat.
 * Shape   [length]; letters in upper or lower case; letters that are not amino acids match no letter
 * Unit    probability
 * Range   0..1; rows are rescaled, so that neither long proteins nor strong repeats overflow
 * Cost    length × 50 × 2 multiply-adds
 * Source  forward–backward (Baum 1972) on the model above
 */
export function repeatProbabilities(sequence: string): Float64Array {
  const letters = paddedLetters(sequence);
  const length = sequence.length;
  const backgrounds = new Float64Array(length + 1);
  const scales = new Float64Array(length + 1);
  runForward(letters, backgrounds, scales);
  return runBackward(letters, backgrounds, scales);
}

/** Pads the front, so that every residue has MAX_PERIOD letters before it. */
function paddedLetters(sequence: string): Uint8Array {
  const letters = new Uint8Array(MAX_PERIOD + sequence.length).fill(NO_LETTER);
  for (let at = 0; at < sequence.length; at += 1) {
    letters[MAX_PERIOD + at] = sequence.charCodeAt(at) % LETTER_COUNT;
  }
  return letters;
}

/** Writes the background probability and the scale divisor after each residue. */
function runForward(letters: Uint8Array, backgrounds: Float64Array, scales: Float64Array): void {
  const repeats = new Float64Array(MAX_PERIOD);
  let background = 1;
  let repeated = 0;
  backgrounds[0] = 1;
  scales[0] = 1;
  for (let at = MAX_PERIOD; at < letters.length; at += 1) {
    const row = letters[at] * LETTER_COUNT;
    let sum = 0;
    for (let back = 0; back < MAX_PERIOD; back += 1) {
      const ratio = RATIOS[row + letters[at - 1 - back]];
      const value = (background * STARTS[back] + repeats[back] * (1 - END)) * ratio;
      repeats[back] = value;
      sum += value;
    }
    background = background * (1 - START) + repeated * END;
    const scale = background + sum;
    const inverse = 1 / scale;
    for (let back = 0; back < MAX_PERIOD; back += 1) repeats[back] *= inverse;
    background *= inverse;
    repeated = sum * inverse;
    backgrounds[at + 1 - MAX_PERIOD] = background;
    scales[at + 1 - MAX_PERIOD] = scale;
  }
}

/** Runs from the last residue to the first; the state behind the last residue is background. */
function runBackward(letters: Uint8Array, backgrounds: Float64Array, scales: Float64Array): Float64Array {
  const length = letters.length - MAX_PERIOD;
  const probabilities = new Float64Array(length);
  const last = backgrounds[length] * (1 - START) + (1 - backgrounds[length]) * END;
  let background = (1 - START) / last;
  const repeats = new Float64Array(MAX_PERIOD).fill(END / last);
  for (let at = letters.length - 1; at >= MAX_PERIOD; at -= 1) {
    const position = at - MAX_PERIOD;
    probabilities[position] = Math.min(1, Math.max(0, 1 - backgrounds[position + 1] * background));
    const row = letters[at] * LETTER_COUNT;
    const inverse = 1 / scales[position + 1];
    const ended = background * END * inverse;
    let started = 0;
    for (let back = 0; back < MAX_PERIOD; back += 1) {
      const value = RATIOS[row + letters[at - 1 - back]] * repeats[back] * inverse;
      started += value * STARTS[back];
      repeats[back] = ended + value * (1 - END);
    }
    background = background * (1 - START) * inverse + started;
  }
  return probabilities;
}

/** Probability that a repeat of each period starts. */
const STARTS = Float64Array.from(
  { length: MAX_PERIOD },
  (_, back) => (START * PERIOD_DECAY ** back * (1 - PERIOD_DECAY)) / (1 - PERIOD_DECAY ** MAX_PERIOD),
);

/**
 * Nats per half bit of BLOSUM62: the rate at which its scores imply background frequencies that add up to one (the sum
 * of all elements of the inverse of e^(λ · score)). Source: Yu, Wootton & Altschul 2003.
 */
const LAMBDA = 0.32403;
/** Score of letters that are not amino acids: the lowest of BLOSUM62. */
const UNKNOWN_SCORE = -4;

/** [letter × letter] likelihood ratio of an aligned pair to a chance pair; 0 for NO_LETTER. */
const RATIOS = likelihoodRatios();

function likelihoodRatios(): Float64Array {
  const ratios = new Float64Array(LETTER_COUNT * LETTER_COUNT);
  for (let letter = 1; letter < LETTER_COUNT; letter += 1) {
    const start = letter * LETTER_COUNT;
    ratios.fill(Math.exp(LAMBDA * UNKNOWN_SCORE), start + 1, start + LETTER_COUNT);
  }
  const letterOf = (index: number): number => AMINO_ACIDS.charCodeAt(index) % LETTER_COUNT;
  BLOSUM62.forEach((row, first) => {
    row.forEach((score, second) => {
      ratios[letterOf(first) * LETTER_COUNT + letterOf(second)] = Math.exp(LAMBDA * score);
    });
  });
  return ratios;
}
