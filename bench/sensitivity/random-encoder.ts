import { createHash } from 'node:crypto';
import { seededRandom, type Random } from '../../src/random.js';
import type { Encoder } from '../../src/encoder/encoder.js';

/**
 * Creates the random baseline of the sensitivity table: each residue has a random direction, with the sequence as the
 * seed. The encoder has the card of another encoder, so that only the vectors differ.
 */
export function randomEncoder({ card, device }: Encoder): Encoder {
  const described = {
    ...card,
    id: 'random',
    name: 'Random vectors',
    description: 'A direction drawn for each residue.',
  };
  return {
    card: described,
    digest: createHash('sha256').update(JSON.stringify(described)).digest('hex'),
    device,
    encode: (sequences) =>
      Promise.resolve(sequences.map((sequence) => drawTokens(sequence, card.dimension, card.inverse_step))),
    close: () => Promise.resolve(),
  };
}

function drawTokens(
  sequence: string,
  dimension: number,
  inverseStep: number,
): { readonly values: Int8Array; readonly length: number } {
  const random = seededRandom(createHash('sha256').update(sequence).digest().readUInt32LE());
  const values = new Int8Array(sequence.length * dimension);
  for (let start = 0; start < values.length; start += dimension) {
    const direction = Float64Array.from({ length: dimension }, () => gaussian(random));
    const scale = inverseStep / Math.hypot(...direction);
    direction.forEach(
      (value, at) => (values[start + at] = Math.max(-127, Math.min(127, Math.round(value * scale)))),
    );
  }
  return { values, length: sequence.length };
}

/** Draws a standard normal value. Source: Box & Muller 1958. */
function gaussian(random: Random): number {
  const uniform = (): number => (random.next() + 0.5) / 2 ** 32;
  return Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}
