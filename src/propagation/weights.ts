/** Parameters of a walk. A calibration of walks belongs to one set of them. */
export interface WalkParameters {
  /** Steps after the query's own hits. */
  readonly steps: number;
  /** Share of its weight that a protein passes on, in 256ths. Range: 0..256 */
  readonly passed_256ths: number;
  /** A hit weighs 1 ÷ (1 + this · E). */
  readonly evalue_factor: number;
  /** Largest E-value of a hit that counts, of the query and in the graph. */
  readonly largest_evalue: number;
  /**
   * Least overlap on a bridge of the stretch by which weight arrives and the stretch by which it leaves, in 256ths of
   * the shorter one. Range: 0..256
   */
  readonly overlap_256ths: number;
  /** Least weight of a protein that passes some on. Unit: 1 is a certain hit. */
  readonly least_passed: number;
}

/** Parameters of this version, tuned on the lists of the 2,716 labelled queries (bench/propagation). */
export const WALK_PARAMETERS: WalkParameters = Object.freeze({
  steps: 6,
  passed_256ths: 205,
  evalue_factor: 5,
  largest_evalue: 10,
  overlap_256ths: 128,
  least_passed: 1 / 64,
});

/** Weight of a certain hit. */
export const WEIGHT_ONE = 2 ** 16 - 1;

/**
 * Quantises the weight of a hit: 1 ÷ (1 + factor · E), or 0 above the largest E-value.
 * Unit    1 ÷ WEIGHT_ONE
 * Range   0..WEIGHT_ONE
 */
export function quantisedWeight(
  logEValue: number,
  { evalue_factor: factor, largest_evalue: largest }: WalkParameters,
): number {
  const eValue = portableExp(logEValue);
  return eValue <= largest ? Math.floor(WEIGHT_ONE / (1 + factor * eValue)) : 0;
}

/**
 * Returns by what the weights of one row are divided before mass passes on: the power 7/8 of their sum. With the sum
 * itself, the members of a large family would receive too little. Square roots are rounded exactly on every machine.
 * Unit    1 ÷ WEIGHT_ONE, as the sum
 * Range   WEIGHT_ONE or more, so that a row with few weak hits keeps most of its mass
 */
export function rowDivisor(sum: number): number {
  const certainHits = Math.max(1, sum / WEIGHT_ONE);
  return (WEIGHT_ONE * certainHits) / Math.sqrt(Math.sqrt(Math.sqrt(certainHits)));
}

/** Below e to this power a hit weighs 1, whatever the factor. */
const LEAST_EXPONENT = -100;
const LARGEST_EXPONENT = 100;
const TAYLOR_TERMS = 18;

/**
 * Exponential function that is equal on every machine. Engines differ in the last bits of Math.exp, but IEEE 754 rounds
 * sums, products and quotients alike everywhere.
 * Range   0 below LEAST_EXPONENT; Infinity above LARGEST_EXPONENT and for no number
 */
export function portableExp(exponent: number): number {
  if (exponent < LEAST_EXPONENT) return 0;
  if (!(exponent <= LARGEST_EXPONENT)) return Infinity;
  const whole = Math.floor(exponent);
  const rest = exponent - whole;
  let value = 1;
  for (let term = TAYLOR_TERMS; term >= 1; term -= 1) value = 1 + (value * rest) / term;
  for (let step = 0; step < Math.abs(whole); step += 1) value = whole < 0 ? value / Math.E : value * Math.E;
  return value;
}
