import type { Encoder } from '#src/encoder/encoder.js';
import { seededRandom, type Random } from '#src/random.js';
import type { HomologsManifest } from '#src/release/release.js';
import { makeRelease } from '../release/make-release.js';
import { fakeEncoder } from './fake-encoder.js';

/** A protein of a simulated family, whose members share most of their letters. */
export interface Homolog {
  readonly id: string;
  readonly sequence: string;
  readonly family: number;
}

interface Homologs {
  readonly proteins: readonly Homolog[];
  /** Writes the proteins, and others after them, as a release of `contextEncoder`, and returns its directory. */
  readonly write: (folder: string, others?: readonly Pick<Homolog, 'id' | 'sequence'>[]) => Promise<string>;
}

/** Manifest of a release built with homologs, for proteins that have none. */
export const NO_HOMOLOGS: HomologsManifest = {
  background: { method: 'alignments', sha256: '0'.repeat(64) },
  rules: { max_expected: 1, min_coverage: 1, max_identity: 1, profile_count: 1, vector_count: 1 },
  encoder_dimension: 32,
  profile_share: 0,
  counts: { targets: 0, relatives: 0 },
};

const LETTERS = 'ACDEFGHIKLMNPQRSTVWY';
const DIMENSION = 32;
/** 32 × 30² is nearly the square of the step. */
const COMPONENT = 30;
const KEPT_SHARE = 0.9;

/** Encoder whose tokens depend on three neighbouring letters. Tokens of different triples are nearly orthogonal. */
export function contextEncoder(): Encoder {
  return {
    ...fakeEncoder(),
    encode: async (sequences) =>
      sequences.map((sequence) => ({ values: contextTokens(sequence), length: sequence.length })),
  };
}

function contextTokens(sequence: string): Int8Array {
  const values = new Int8Array(sequence.length * DIMENSION);
  for (let row = 0; row < sequence.length; row += 1) {
    const context = [-1, 0, 1].map((by) => sequence.charCodeAt(row + by) || 0);
    const signs = seededRandom(context[0]! * 65_536 + context[1]! * 256 + context[2]!).next();
    for (let column = 0; column < DIMENSION; column += 1) {
      values[row * DIMENSION + column] = (signs >>> column) & 1 ? COMPONENT : -COMPONENT;
    }
  }
  return values;
}

/** Families of simulated proteins, shuffled. */
export function makeHomologs(
  random: Random,
  { homologSets, members }: { readonly homologSets: number; readonly members: number },
): Homologs {
  const letter = (): string => LETTERS[random.below(LETTERS.length)]!;
  const ancestors = Array.from({ length: homologSets }, () =>
    Array.from({ length: 40 + random.below(80) }, letter),
  );
  const proteins = Array.from({ length: homologSets * members }, (_, at): Homolog => {
    const family = at % homologSets;
    const own = ancestors[family]!.map((letterOfAncestor) =>
      random.share() < KEPT_SHARE ? letterOfAncestor : letter(),
    );
    return { id: `P${at}`, sequence: own.join(''), family };
  });
  const write: Homologs['write'] = (folder, others = []) => {
    const targets = [...proteins, ...others];
    const values = targets.map(({ sequence }) => contextTokens(sequence));
    const tokens = Int8Array.from(values.flatMap((rows) => [...rows]));
    return makeRelease(folder, {
      targets,
      dimension: DIMENSION,
      token: (row, column) => tokens[row * DIMENSION + column]!,
    });
  };
  return { proteins, write };
}

/** Indices of the proteins in the family of this sequence, itself included. */
export function homologsOf(proteins: readonly Homolog[], sequence: string): readonly number[] {
  const family = proteins.find((protein) => protein.sequence === sequence)?.family;
  return [...proteins.keys()].filter((at) => proteins[at]!.family === family);
}
