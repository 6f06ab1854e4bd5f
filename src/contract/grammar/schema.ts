import {
  Type,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from '@sinclair/typebox';

/**
 * Schema words that are ours beside JSON Schema 2020-12.
 * `chosen` marks what the interface document leaves open and design/decisions.md settles: one search lists all of it.
 * `publishedPattern` is the `pattern` of the documents that we give out; here the operation itself refuses its breach,
 * because it can say more.
 */
export interface SchemaNotes {
  readonly description?: string;
  readonly chosen?: true;
  readonly publishedPattern?: string;
}

/**
 * A schema with a name of its own: a component of the OpenAPI document and a file below `/schemas/`.
 * Where it is used inside another schema, every emitter writes a `$ref` to the name.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, $id: name };
}

/** An object without other members than these. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  notes: SchemaNotes & { readonly [keyword: string]: unknown } = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...notes });
}

declare const DEFAULTED: unique symbol;
/** Marks, for types only, a member that the server fills in. */
export interface Defaulted {
  readonly [DEFAULTED]: true;
}

/** A member that callers may leave out and handlers always find. */
export function defaulted<Schema extends TSchema>(value: Static<Schema>, schema: Schema): Schema & Defaulted {
  return { ...schema, default: value } as Schema & Defaulted;
}

/** A closed enumeration; each value carries its meaning into the description. */
export function enumeration<const Meanings extends Readonly<Record<string, string>>>(
  meanings: Meanings,
  notes: SchemaNotes = {},
): TUnsafe<keyof Meanings & string> {
  const lines = Object.entries(meanings).map(([value, meaning]) => `- \`${value}\`: ${meaning}`);
  const description = [notes.description, lines.join('\n')].filter(Boolean).join('\n\n');
  return Type.Unsafe<keyof Meanings & string>({
    type: 'string',
    enum: Object.keys(meanings),
    ...notes,
    description,
  });
}

/** One fixed string, such as the `object` member that names what a body is. */
export function constant<const Value extends string>(value: Value, description?: string): TUnsafe<Value> {
  return Type.Unsafe<Value>({ type: 'string', const: value, ...(description ? { description } : {}) });
}

export function text(description: string, options: { readonly [keyword: string]: unknown } = {}) {
  return Type.String({ description, ...options });
}

export function count(description: string, options: { readonly [keyword: string]: unknown } = {}) {
  return Type.Integer({ description, minimum: 0, ...options });
}

export function quantity(description: string, options: { readonly [keyword: string]: unknown } = {}) {
  return Type.Number({ description, ...options });
}

/** A probability, a coverage or an identity: 0..1. */
export function ratio(description: string, options: { readonly [keyword: string]: unknown } = {}) {
  return Type.Number({ description, minimum: 0, maximum: 1, ...options });
}

export function flag(description: string) {
  return Type.Boolean({ description });
}

export function moment(description: string, options: { readonly [keyword: string]: unknown } = {}) {
  return Type.String({ description, format: 'date-time', ...options });
}

/** Lower-case hex SHA-256. */
export function sha256(description: string) {
  return Type.String({ description, pattern: '^[0-9a-f]{64}$' });
}

/** An object whose members are not fixed by the contract. */
export function openObject(description: string): TUnsafe<Readonly<Record<string, unknown>>> {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description,
  });
}

/** States that at most one of each pair of members may be present. */
export function mutuallyExclusive(...pairs: readonly (readonly [string, string])[]) {
  return { allOf: pairs.map(([left, right]) => ({ not: { type: 'object', required: [left, right] } })) };
}
