import {
  Bool,
  Field,
  FixedSizeList,
  Float64,
  Int32,
  Int64,
  Int8,
  List,
  Schema,
  Utf8,
  type DataType,
} from 'apache-arrow';
import { PROFILE_WIDTH } from '../kernels/kernels.js';
import { arrowBatchStart, arrowFileEnd, arrowFileStart, padded } from './arrow-bytes.js';
import type { AttributeType, FilterField } from './release.js';

/*
 * Files of a release in the folder `indexes/<slug>/<release id>/`, which has no others.
 *
 *   manifest.json     ReleaseManifest (release.ts). Its canonical SHA-256 is the release id, and it names
 *                     the size and SHA-256 of every other file.
 *   targets.arrow     id, sequence, length, self_score; a row per target, in the order of the input. A release with
 *                     homologs also has relatives and effective_sequences.
 *   attributes.arrow  A nullable column per field of the filter schema; the same rows.
 *   tokens.arrow      `token`: int8 × dimension, a row per residue of all targets, in order.
 *   profiles.arrow    `profile`: int8 × 32, the quantised profile (kernels.ts); the same rows as tokens.arrow.
 *                     Only in a release with homologs.
 *   taxonomy.arrow    taxid, parent_taxid, rank, name of each taxon on the lineage of a target. Only in a release
 *                     that was built with a taxonomy.
 *   names.index       Words of ids and names with the targets that have them (names/format.ts). Missing in releases of
 *                     early versions.
 *
 * The .arrow files are uncompressed Arrow IPC files. tokens.arrow and profiles.arrow are ONE record batch each. Its
 * values are one contiguous range that starts at a multiple of 64 bytes (`values_byte_offset` in the manifest), so that
 * it can be mapped. The other files have batches of BATCH_ROWS rows; the last may be shorter. Offsets within a batch
 * therefore fit in 32 bits, and a shift and a mask give a row's batch and its position there.
 */

export const RELEASE_FORMAT = 'gloaming-release/1';
/** How tokens of families come about and what tables say of them: any change to either is another release. */
export const HOMOLOG_FORM_ID = 'gloaming-family/2';

export const MANIFEST_FILE = 'manifest.json';
export const TARGETS_FILE = 'targets.arrow';
export const ATTRIBUTES_FILE = 'attributes.arrow';
export const TOKENS_FILE = 'tokens.arrow';
export const PROFILES_FILE = 'profiles.arrow';
export const TAXONOMY_FILE = 'taxonomy.arrow';
export const NAMES_FILE = 'names.index';

export const BATCH_ROWS_LOG2 = 12;
/**
 * 4,096 proteins of 65,535 residues are 270 MB: the most text that a writer holds, once as strings and once
 * as bytes.
 */
export const BATCH_ROWS = 1 << BATCH_ROWS_LOG2;

const TARGET_FIELDS = [
  new Field('id', new Utf8(), false),
  new Field('sequence', new Utf8(), false),
  new Field('length', new Int32(), false),
  new Field('self_score', new Int32(), false),
];

/** Arrow schema of targets.arrow. */
export function targetsSchema(hasProfiles: boolean): Schema {
  if (!hasProfiles) return new Schema(TARGET_FIELDS);
  return new Schema([
    ...TARGET_FIELDS,
    new Field('relatives', new Int32(), false),
    new Field('effective_sequences', new Float64(), false),
  ]);
}

export const TAXONOMY_SCHEMA = new Schema([
  new Field('taxid', new Int32(), false),
  new Field('parent_taxid', new Int32(), false),
  new Field('rank', new Utf8(), false),
  new Field('name', new Utf8(), false),
]);

/** Arrow schema of attributes.arrow: every column may miss values. */
export function attributesSchema(fields: readonly FilterField[]): Schema {
  return new Schema(fields.map(({ name, type }) => new Field(name, attributeArrowType(type), true)));
}

function attributeArrowType(type: AttributeType): DataType {
  switch (type) {
    case 'string':
      return new Utf8();
    case 'integer':
      return new Int64();
    case 'number':
      return new Float64();
    case 'boolean':
      return new Bool();
    case 'string_list':
      return new List(new Field('item', new Utf8(), false));
  }
}

/** The bytes of tokens.arrow, or of profiles.arrow, around its values; they follow from the counts alone. */
export interface RowsFrame {
  /** Written first; its length is `values_byte_offset`. */
  readonly start: Buffer;
  readonly valuesByteLength: number;
  /** Written after the values. */
  readonly end: Buffer;
}

export function tokensFrame(dimension: number, residues: number): RowsFrame {
  return rowsFrame('token', dimension, residues);
}

export function profilesFrame(residues: number): RowsFrame {
  return rowsFrame('profile', PROFILE_WIDTH, residues);
}

function rowsFrame(column: string, dimension: number, residues: number): RowsFrame {
  const schema = new Schema([
    new Field(column, new FixedSizeList(dimension, new Field('item', new Int8(), false)), false),
  ]);
  const valuesByteLength = dimension * residues;
  const fileStart = arrowFileStart(schema);
  const batch = arrowBatchStart({
    rows: residues,
    nodes: [
      { length: residues, nullCount: 0 },
      { length: valuesByteLength, nullCount: 0 },
    ],
    // The two validity bitmaps are absent, because nothing is null.
    bufferBytes: [0, 0, valuesByteLength],
  });
  const block = { offset: fileStart.length, metadataBytes: batch.bytes.length, bodyBytes: batch.bodyBytes };
  return {
    start: Buffer.concat([fileStart, batch.bytes]),
    valuesByteLength,
    end: Buffer.concat([
      Buffer.alloc(padded(valuesByteLength) - valuesByteLength),
      arrowFileEnd(schema, [block]),
    ]),
  };
}
