import { faultAt, type Place, type RefusalLocation } from '../../places.js';
import { type Clause, clauseOf, join, negate } from './clause.js';
import type { FilterKey, FilterOperator, OperatorShape } from './operators.js';
import { compareValues, nearestName, readValue, valueOf } from './values.js';
import type { FilterField } from '../release.js';

/** Bounds of one filter as it is sent; a canonical filter read back has none. */
export interface FilterBounds {
  readonly depth: number;
  readonly clauses: number;
  /** Entries of all `values` together. */
  readonly values: number;
  /** Maximum number of values that are searched inside texts. */
  readonly substrings: number;
  readonly valueCharacters: number;
  readonly faults: number;
}

export interface ReadingRules {
  readonly fields: readonly FilterField[];
  readonly operators: readonly OperatorShape[];
  readonly bounds: FilterBounds;
}

export interface Reading {
  /** Absent where there is any fault. */
  readonly clause?: Clause;
  /** Every place that is wrong, in the order of the text, up to the bound. */
  readonly faults: readonly RefusalLocation[];
}

interface Reader extends ReadingRules {
  readonly fieldOf: ReadonlyMap<string, FilterField>;
  readonly shapeOf: ReadonlyMap<string, OperatorShape>;
  readonly faults: RefusalLocation[];
  clauseCount: number;
  valueCount: number;
  substringCount: number;
}

/** A member of a predicate, with the place where it stands. */
interface Member {
  readonly value: unknown;
  readonly place: Place;
}

type MemberOf = (key: FilterKey | 'op') => Member;

/** Reads a predicate from unchecked JSON. Continues after a fault, so that all faults are reported together. */
export function readPredicate(predicate: unknown, place: Place, rules: ReadingRules): Reading {
  const reader: Reader = {
    ...rules,
    fieldOf: new Map(rules.fields.map((field) => [field.name, field])),
    shapeOf: new Map(rules.operators.map((shape) => [shape.op, shape])),
    faults: [],
    clauseCount: 0,
    valueCount: 0,
    substringCount: 0,
  };
  const clause = readClause(reader, { value: predicate, place }, 1);
  return reader.faults.length > 0 || clause === undefined
    ? { faults: reader.faults }
    : { clause, faults: [] };
}

function readClause(reader: Reader, { value, place }: Member, depth: number): Clause | undefined {
  const { bounds } = reader;
  reader.clauseCount += 1;
  if (reader.clauseCount > bounds.clauses) {
    // One fault says it: the clauses after the first one too many would all say the same.
    if (reader.clauseCount > bounds.clauses + 1) return undefined;
    const broken = { value, bounds: { clauses: bounds.clauses } };
    return refuse(reader, place, `A filter has at most ${bounds.clauses} clauses.`, broken);
  }
  if (depth > bounds.depth) {
    const broken = { value, bounds: { depth: bounds.depth } };
    return refuse(reader, place, `A filter is at most ${bounds.depth} clauses deep.`, broken);
  }
  if (!isObject(value)) return refuse(reader, place, 'Expected an object with the member "op".', { value });
  const shape = readShape(reader, value, place);
  if (shape === undefined) return undefined;
  const memberOf: MemberOf = (key) => ({
    value: Object.hasOwn(value, key) ? value[key] : undefined,
    place: [...place, key],
  });
  switch (shape.op) {
    case 'and':
    case 'or':
      return readJunction(reader, shape.op, memberOf('filters'), depth);
    case 'not': {
      const filter = memberOf('filter');
      const clause = filter.value === undefined ? undefined : readClause(reader, filter, depth + 1);
      return clause && negate(clause);
    }
    default:
      return readTest(reader, shape, memberOf);
  }
}

/** The shape of this object's operator; faults for an unknown operator and for members too many or too few. */
function readShape(
  reader: Reader,
  predicate: Record<string, unknown>,
  place: Place,
): OperatorShape | undefined {
  const { op } = predicate;
  const shape = typeof op === 'string' ? reader.shapeOf.get(op) : undefined;
  if (shape === undefined) {
    const names = [...reader.shapeOf.keys()];
    const nearest = typeof op === 'string' ? nearestName(op, names) : undefined;
    const hint = nearest === undefined ? '' : ` Did you mean "${nearest}"?`;
    const broken = { value: op, bounds: { enum: names } };
    return refuse(reader, [...place, 'op'], `Expected one of ${names.join(', ')}.${hint}`, broken);
  }
  const members = `"op"${shape.keys.map((key) => `, "${key}"`).join('')}`;
  for (const key of Object.keys(predicate)) {
    if (key === 'op' || (shape.keys as readonly string[]).includes(key)) continue;
    const value = predicate[key];
    refuse(reader, [...place, key], `"${shape.op}" takes exactly the members ${members}.`, { value });
  }
  for (const key of shape.keys) {
    if (Object.hasOwn(predicate, key)) continue;
    refuse(
      reader,
      [...place, key],
      `"${shape.op}" takes exactly the members ${members}; this one is missing.`,
    );
  }
  return shape;
}

function readJunction(reader: Reader, op: 'and' | 'or', filters: Member, depth: number): Clause | undefined {
  if (filters.value === undefined) return undefined;
  if (!Array.isArray(filters.value) || filters.value.length === 0) {
    const { place, value } = filters;
    return refuse(reader, place, 'Expected an array of at least one predicate.', { value });
  }
  const clauses: Clause[] = [];
  for (const [index, value] of filters.value.entries()) {
    if (reader.clauseCount > reader.bounds.clauses) break;
    const clause = readClause(reader, { value, place: [...filters.place, index] }, depth + 1);
    if (clause !== undefined) clauses.push(clause);
  }
  // A clause with a fault left its mark in `faults`; what the others join to is then never used.
  return clauses.length === 0 ? undefined : join(op, clauses);
}

function readTest(reader: Reader, shape: OperatorShape, memberOf: MemberOf): Clause | undefined {
  const field = readField(reader, shape, memberOf);
  const values = readMembers(reader, shape, memberOf);
  const read = shape.needsTaxonomy === true ? readTaxon : readText;
  const texts = values.map((value) => read(reader, value, field)).filter((text) => text !== undefined);
  if (field === undefined || texts.length < values.length) return undefined;
  if (shape.valueCount === 2 && texts.length === 2 && isReversed(field, texts[0], texts[1])) {
    const { place, value } = memberOf('values');
    return refuse(reader, place, 'Expected [low, high] with low at most high.', { value });
  }
  if (shape.op.startsWith('contains_') && field.type === 'string') {
    reader.substringCount += texts.length;
    const { substrings } = reader.bounds;
    if (reader.substringCount > substrings) {
      const message = `A filter looks for at most ${substrings} values of "contains_any" and "contains_all" in texts.`;
      const { place, value } = memberOf('values');
      return refuse(reader, place, message, { value, bounds: { substrings } });
    }
  }
  return clauseOf(shape.op as FilterOperator, field, texts);
}

function readField(reader: Reader, shape: OperatorShape, memberOf: MemberOf): FilterField | undefined {
  const { value, place } = memberOf('field');
  if (value === undefined) return undefined;
  if (typeof value !== 'string') return refuse(reader, place, 'Expected the name of a field.', { value });
  const field = reader.fieldOf.get(value);
  if (field === undefined) {
    const nearest = nearestName(value, reader.fieldOf.keys());
    const hint = nearest === undefined ? knownFields(reader) : ` Did you mean "${nearest}"?`;
    return refuse(reader, place, `This release has no field of that name.${hint}`, { value });
  }
  if (!shape.fieldTypes.includes(field.type)) {
    const message =
      `"${shape.op}" takes fields of type ${shape.fieldTypes.join(', ')}; ` +
      `"${field.name}" is of type ${field.type}.`;
    const broken = { value: shape.op, bounds: { field_types: shape.fieldTypes } };
    return refuse(reader, memberOf('op').place, message, broken);
  }
  if (shape.needsTaxonomy === true && field.isTaxonomy !== true) {
    const message = `"${shape.op}" takes the taxid field of a release with a taxonomy.`;
    return refuse(reader, place, message, { value });
  }
  return field;
}

function knownFields({ fieldOf }: Reader): string {
  if (fieldOf.size === 0) return ' It has none at all.';
  const names = [...fieldOf.keys()];
  const more = names.length > 20 ? ` and ${names.length - 20} more` : '';
  return ` It has ${names.slice(0, 20).join(', ')}${more}.`;
}

/** The members that hold this test's values; none where the shape has none or they are not as it wants them. */
function readMembers(reader: Reader, shape: OperatorShape, memberOf: MemberOf): readonly Member[] {
  if (shape.keys.includes('value')) return [memberOf('value')].filter(({ value }) => value !== undefined);
  const { value: list, place } = memberOf('values');
  if (!shape.keys.includes('values') || list === undefined) return [];
  const expected = shape.valueCount === undefined ? 'at least one value' : `${shape.valueCount} values`;
  const isRight = Array.isArray(list) && list.length > 0 && list.length === (shape.valueCount ?? list.length);
  if (!isRight) {
    const count = shape.valueCount;
    const bounds = count === undefined ? { minItems: 1 } : { minItems: count, maxItems: count };
    refuse(reader, place, `Expected an array of ${expected}.`, { value: list, bounds });
    return [];
  }
  reader.valueCount += list.length;
  if (reader.valueCount > reader.bounds.values) {
    const { values } = reader.bounds;
    const broken = { value: list, bounds: { values } };
    refuse(reader, place, `The lists of a filter have at most ${values} values together.`, broken);
    return [];
  }
  return list.map((value: unknown, index) => ({ value, place: [...place, index] }));
}

/** A taxon by its number or its scientific name; canonical filters have the number. */
function readTaxon(reader: Reader, member: Member, field: FilterField | undefined): string | undefined {
  const { value, place } = member;
  const isName = typeof value === 'string' && !/^\s*-?\d/.test(value);
  if (!isName || field?.taxaNamed === undefined) return readText(reader, member, field);
  if (readText(reader, member, undefined) === undefined) return undefined;
  const taxids = field.taxaNamed(value.trim());
  if (taxids.length === 1) return String(taxids[0]);
  const message =
    taxids.length === 0
      ? "Expected a taxid or a scientific name of the release's taxonomy; it has no taxon of this name."
      : `Several taxa have this name: ${taxids.join(', ')}. Name one by its number.`;
  return refuse(reader, place, message, { value });
}

/** Canonical text of one value; where the field is not known, only its kind and length are checked. */
function readText(
  reader: Reader,
  { value, place }: Member,
  field: FilterField | undefined,
): string | undefined {
  if (typeof value !== 'string')
    return refuse(reader, place, 'Expected the value as text, in quotes.', { value });
  const { valueCharacters } = reader.bounds;
  if (value.length > valueCharacters) {
    const broken = { value, bounds: { maxLength: valueCharacters } };
    const message = `A value has at most ${valueCharacters} characters; this one ${value.length}.`;
    return refuse(reader, place, message, broken);
  }
  if (field === undefined) return value;
  const read = readValue(value, field.type);
  if ('text' in read) return read.text;
  const message = `Expected ${read.expected}: "${field.name}" is of type ${field.type}.`;
  return refuse(reader, place, message, { value, bounds: { type: field.type } });
}

function isReversed(field: FilterField, low: string, high: string): boolean {
  return compareValues(valueOf(low, field.type), valueOf(high, field.type)) > 0;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Notes a fault, up to the bound. */
function refuse(reader: Reader, ...[place, message, broken]: Parameters<typeof faultAt>): undefined {
  if (reader.faults.length < reader.bounds.faults) reader.faults.push(faultAt(place, message, broken));
  return undefined;
}
