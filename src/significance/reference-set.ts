import { Binary, Float64, Table, tableFromIPC, tableToIPC, vectorFromArray, type Vector } from 'apache-arrow';
import { PROFILE_WIDTH, type QueryTokens, type TokenSource } from '../kernels/kernels.js';
import {
  projectMoments,
  proteinMoments,
  type MomentForm,
  type MomentTable,
  type ProjectedMoments,
} from './moments.js';

/**
 * The proteins that hubness is measured against: targets of the release, or proteins that ship with the encoder's
 * reference null. The latter have tokens and moments of their own.
 */
export type ReferenceSet =
  | {
      readonly kind: 'targets';
      /** Target indices, ascending. */
      readonly targets: Uint32Array;
    }
  | {
      readonly kind: 'proteins';
      readonly source: TokenSource;
      /** One per protein, projected on the basis of the calibration. */
      readonly moments: readonly ProjectedMoments[];
    };

/**
 * Opens proteins as a reference set: their tokens as a source in memory, their moments projected on the basis.
 * Shape  basis [rank × second moment], row-major, orthonormal rows
 * Unit   components of unit vectors
 * Range  −1..1
 */
export function openReferenceSet(
  proteins: readonly QueryTokens[],
  form: MomentForm,
  { rank, basis }: Pick<MomentTable, 'rank' | 'basis'>,
): ReferenceSet {
  return {
    kind: 'proteins',
    source: referenceSource(proteins, form.dimension),
    moments: proteins.map((protein) => projectMoments(proteinMoments(protein, form), basis, rank)),
  };
}

/** Number of members of a reference set. */
export function referenceSetSize(set: ReferenceSet): number {
  return set.kind === 'targets' ? set.targets.length : set.source.residueStarts.length - 1;
}

/**
 * Returns an Arrow file with one row per protein: `tokens` and, with profiles, `profile` and `effective_sequences`.
 * Shape  tokens [length × dimension] and profiles [length × PROFILE_WIDTH], row-major
 * Range  −128..127 of both
 */
export function referenceBytes(proteins: readonly QueryTokens[]): Uint8Array {
  const profiles = proteins.flatMap(({ profile }) => (profile === undefined ? [] : [profile]));
  const columns = {
    tokens: bytesColumn(proteins.map(({ values }) => values)),
    ...(profiles.length === proteins.length && {
      profile: bytesColumn(profiles),
      effective_sequences: vectorFromArray(
        proteins.map(({ effectiveSequences = 1 }) => effectiveSequences),
        new Float64(),
      ),
    }),
  };
  return tableToIPC(new Table(columns), 'file');
}

/**
 * Reads the proteins of a file that `referenceBytes` made.
 * Shape   tokens [length × dimension] and profiles [length × PROFILE_WIDTH], row-major
 * Range   −128..127 of both
 * Errors  RangeError if a column is missing or a row is not a whole number of tokens
 */
export function readReferenceProteins(bytes: Uint8Array, dimension: number): readonly QueryTokens[] {
  const table = tableFromIPC(bytes);
  const tokens = rowsOf(table, 'tokens');
  const hasProfiles = table.getChild('profile') !== null;
  const profiles = hasProfiles ? rowsOf(table, 'profile') : undefined;
  const effective = hasProfiles
    ? Array.from(table.getChild('effective_sequences') as Iterable<number>)
    : undefined;
  return tokens.map((values, protein) => {
    const length = values.length / dimension;
    const profile = profiles?.[protein];
    const isWhole = Number.isInteger(length) && length > 0;
    if (!isWhole || (profile !== undefined && profile.length !== length * PROFILE_WIDTH)) {
      throw new RangeError(`Row ${protein} of the reference set has ${values.length} bytes of tokens.`);
    }
    return { values, length, ...(profile && { profile, effectiveSequences: effective![protein] }) };
  });
}

/**
 * Returns the proteins as one token source in memory.
 * Shape  as of `TokenSource`
 * Range  −128..127
 */
function referenceSource(proteins: readonly QueryTokens[], dimension: number): TokenSource {
  const residueStarts = new Uint32Array(proteins.length + 1);
  proteins.forEach(({ length }, at) => (residueStarts[at + 1] = residueStarts[at] + length));
  const profiles = proteins.flatMap(({ profile }) => (profile === undefined ? [] : [profile]));
  return {
    dimension,
    residueStarts,
    tokens: { values: joined(proteins.map(({ values }) => values)) },
    ...(profiles.length > 0 && { profiles: { values: joined(profiles) } }),
  };
}

function bytesColumn(rows: readonly Int8Array[]): Vector<Binary> {
  return vectorFromArray(
    rows.map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength)),
    new Binary(),
  );
}

function rowsOf(table: Table, name: string): readonly Int8Array[] {
  const column = table.getChild(name);
  if (column === null) throw new RangeError(`The reference set lacks the column ${name}.`);
  return Array.from(column as Iterable<Uint8Array>, (row) => new Int8Array(row));
}

function joined(rows: readonly Int8Array[]): Int8Array {
  const all = new Int8Array(rows.reduce((sum, { length }) => sum + length, 0));
  let start = 0;
  for (const row of rows) {
    all.set(row, start);
    start += row.length;
  }
  return all;
}
