import { canonicalSha256 } from '#src/canonical.js';
import type { Encoder, EncoderCard } from '#src/encoder/encoder.js';

const DIMENSION = 32;
const CARD: EncoderCard = {
  id: 'fake',
  name: 'fake',
  description: 'Tokens that follow from the letter and its position; for tests of what is done with tokens.',
  license: 'CC0-1.0',
  is_baseline: true,
  model: { file: 'none', sha256: '0'.repeat(64) },
  inputs: { ids: 'ids', mask: null },
  output: 'vectors',
  tokenizer: { vocabulary: {}, unknown: 0, padding: 0, prefix: [], suffix: [] },
  window: null,
  projection: null,
  dimension: DIMENSION,
  inverse_step: 173,
  affine: { multiplier: 30_000, offset: 5, gap_open: 10, gap_extend: 1 },
};

/** @param beforeBatch called with the number of batches so far; its error rejects the encoding */
export function fakeEncoder(beforeBatch: (batches: number) => void = () => undefined): Encoder {
  let batches = 0;
  return {
    card: CARD,
    digest: canonicalSha256(CARD),
    device: 'cpu',
    async encode(sequences) {
      beforeBatch(batches);
      batches += 1;
      return sequences.map((sequence) => ({ values: tokensOf(sequence), length: sequence.length }));
    },
    close: async () => undefined,
  };
}

export function tokensOf(sequence: string): Int8Array {
  const values = new Int8Array(sequence.length * DIMENSION);
  for (let at = 0; at < values.length; at += 1) {
    const row = Math.floor(at / DIMENSION);
    values[at] = ((sequence.charCodeAt(row) * 31 + row * 7 + (at % DIMENSION) * 13) % 61) - 30;
  }
  return values;
}

/**
 * Returns the encoder with affine scores so small that the weight of profiles fits in int16, as the kernels require.
 */
export function withSmallScores(encoder: Encoder): Encoder {
  const { card } = encoder;
  return { ...encoder, card: { ...card, affine: { ...card.affine, multiplier: 3_000 } } };
}
