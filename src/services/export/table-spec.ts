import { Refusal } from '../../errors.js';
import { EXPORT_FIELDS_MAX_COUNT } from '../../limits.js';
import { BLAST_FIELDS, BLAST_STANDARD, MMSEQS_FIELDS, MMSEQS_STANDARD, type Field } from './fields.js';

/** A table in the columns of another tool, in that tool's notation. */
export type TableSpec =
  | { readonly kind: 'blast'; readonly hasComments: boolean; readonly fields: readonly string[] }
  | { readonly kind: 'blast_xml' }
  | { readonly kind: 'mmseqs'; readonly fields: readonly string[] };

/**
 * Reads `6`, `7` or `5`, then names of columns, as in BLAST's and DIAMOND's -outfmt.
 * Errors  Refusal `export_not_possible` for another number or an unknown name
 */
export function readOutfmt(text: string): TableSpec {
  const [number = '', ...names] = text.split(/\s+/).filter((word) => word !== '');
  if (number === '5' && names.length === 0) return { kind: 'blast_xml' };
  if (number !== '6' && number !== '7') {
    throw refuse(
      'outfmt',
      `The outfmt is 6, 7 or 5 here, and names of columns follow 6 and 7; ${quoted(text)} is not.`,
    );
  }
  const columns = names.length === 0 ? BLAST_STANDARD : names;
  const fields = columns.flatMap((name) => (name === 'std' ? BLAST_STANDARD : [name]));
  return { kind: 'blast', hasComments: number === '7', fields: knownFields('outfmt', fields, BLAST_FIELDS) };
}

/**
 * Reads names of columns separated by commas, as in MMseqs2's --format-output; empty for its default.
 * Errors  Refusal `export_not_possible` for an unknown name
 */
export function readFormatOutput(text: string): TableSpec {
  const names = text.split(/[\s,]+/).filter((word) => word !== '');
  const fields = names.length === 0 ? MMSEQS_STANDARD : names;
  return { kind: 'mmseqs', fields: knownFields('format_output', fields, MMSEQS_FIELDS) };
}

/** The twelve columns of BLAST's -outfmt 6, also called m8. */
export const M8: TableSpec = { kind: 'blast', hasComments: false, fields: BLAST_STANDARD };

/** Names and columns of a table. */
export function fieldsOf(spec: Exclude<TableSpec, { kind: 'blast_xml' }>): readonly Field[] {
  const fields: Readonly<Record<string, Field>> = spec.kind === 'blast' ? BLAST_FIELDS : MMSEQS_FIELDS;
  return spec.fields.map((name) => fields[name]);
}

function knownFields(
  param: string,
  names: readonly string[],
  fields: Readonly<Record<string, Field>>,
): readonly string[] {
  if (names.length > EXPORT_FIELDS_MAX_COUNT)
    throw refuse(param, `A table has at most ${EXPORT_FIELDS_MAX_COUNT} columns.`);
  const unknown = names.find((name) => !Object.hasOwn(fields, name));
  if (unknown === undefined) return names;
  throw refuse(param, `There is no column ${quoted(unknown)}; there are ${Object.keys(fields).join(', ')}.`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

function refuse(param: string, message: string): Refusal {
  return new Refusal('export_not_possible', message, { param });
}
