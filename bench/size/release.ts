import { canonicalSha256 } from '../../src/canonical.js';
import type { ProteinInput, SourceProtein } from '../../src/build-release/sources/protein-source.js';
import type { Encoder } from '../../src/encoder/encoder.js';
import type { QueryTokens } from '../../src/kernels/kernels.js';
import { seededRandom, type Random } from '../../src/random.js';

/*
 * Random databases of any size: random proteins with random tokens from a stub encoder that is as fast as memory. One
 * real protein with its real tokens is planted among them, so that a search has a correct answer.
 */

const LETTERS = 'ACDEFGHIKLMNPQRSTVWY';
/** Range of uniformly distributed lengths of random proteins. */
export interface LengthRange {
  readonly least: number;
  readonly span: number;
}

const LENGTHS: LengthRange = { least: 50, span: 600 };

/** The protein that a search must rank first. Its id is `planted`. */
export const PLANTED =
  'MKHLHRFFSSDASGGIILIIAAILAMIMANSGATSGWYHDFLETPVQLRVGSLEINKNMLLWINDALMAVFFLLVGLEVKRELMQGSLASLRQAAFPVIAAIGG' +
  'MIVPALLYLAFNYADPITREGWAIPAATDIAFALGVLALLGSRVPLALKIFLMALAIIDDLGAIIIIALFYTNDLSMASLGVAAVAIAVLAVLNLCGARRTGVY';

/** Yields random proteins up to this number of residues. */
export function randomInput(seed: number, residues: number, lengths = LENGTHS): ProteinInput {
  return {
    digest: canonicalSha256({ seed, residues, ...lengths }),
    open: async () => ({
      fields: [{ name: 'length', type: 'integer' }],
      totalBytes: residues,
      proteins: (onBytes) => randomProteins(seed, residues, lengths, onBytes),
      notes: () => [],
      close: () => undefined,
    }),
  };
}

/** Stub encoder with the real encoder's card. It returns random tokens for every protein except the planted one. */
export function randomEncoder(real: Encoder, seed: number): Encoder {
  const { dimension } = real.card;
  const random = seededRandom(seed);
  const next = (length: number): QueryTokens => ({ values: randomTokens(random, length, dimension), length });
  return {
    ...real,
    encode: async (sequences, options) => {
      const [planted] = sequences.includes(PLANTED) ? await real.encode([PLANTED], options) : [];
      return sequences.map((sequence) => (sequence === PLANTED ? planted : next(sequence.length)));
    },
  };
}

async function* randomProteins(
  seed: number,
  residues: number,
  { least, span }: LengthRange,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<SourceProtein> {
  const random = seededRandom(seed);
  yield { id: 'planted', text: PLANTED, attributes: {} };
  let done = PLANTED.length;
  for (let ordinal = 1; done < residues; ordinal += 1) {
    const length = least + random.below(span);
    let text = '';
    for (let at = 0; at < length; at += 1) text += LETTERS[random.below(LETTERS.length)];
    yield { id: `random-${ordinal}`, text, attributes: {} };
    done += length;
    onBytes?.(length);
  }
}

/**
 * Random tokens: five bits per component up to dimension 64, four above, so that squared norms stay ≤ 16,384.
 * Shape   [length × dimension].
 * Unit    int8 components
 */
function randomTokens(random: Random, length: number, dimension: number): Int8Array {
  const bits = dimension <= 64 ? 5 : 4;
  const [mask, middle] = [(1 << bits) - 1, 1 << (bits - 1)];
  const values = new Int8Array(length * dimension);
  for (let at = 0; at < values.length; at += 4) {
    const word = random.next();
    values[at] = ((word >>> 1) & mask) - middle;
    values[at + 1] = ((word >>> 8) & mask) - middle;
    values[at + 2] = ((word >>> 16) & mask) - middle;
    values[at + 3] = ((word >>> 24) & mask) - middle;
  }
  return values;
}
