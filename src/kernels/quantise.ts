import { assert } from '../errors.js';
import { TOKEN_MAX_SQUARED_NORM } from '../limits.js';

/**
 * Quantises unit vectors to int8 tokens: round(x × inverseStep), halves upwards, clamped to ±127.
 * Shape   vectors and tokens [count × dimension], row-major
 * Unit    1 ÷ inverseStep of the vectors' unit
 * Range   squared norms stay ≤ 32,767: rounding adds at most √dimension ÷ 2 to a norm of inverseStep, and the
 *         card's check keeps that sum under √32,767; clamping only shortens
 */
export function quantise(
  vectors: Float32Array | Float64Array,
  dimension: number,
  inverseStep: number,
): Int8Array {
  const tokens = new Int8Array(vectors.length);
  for (let start = 0; start < vectors.length; start += dimension) {
    let squaredNorm = 0;
    for (let i = start; i < start + dimension; i++) {
      // Half the time of Math.round, from which it differs for the number next below ½ alone.
      let value = Math.floor(vectors[i] * inverseStep + 0.5);
      if (value > 127) value = 127;
      else if (value < -127) value = -127;
      tokens[i] = value;
      squaredNorm += value * value;
    }
    assert(squaredNorm <= TOKEN_MAX_SQUARED_NORM, 'a dot product of two tokens must fit in int16');
  }
  return tokens;
}
