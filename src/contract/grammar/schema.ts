import {
  Type,
  type Static,
  type TObject,
  type TProperties,
  type TSchema,
  type TUnsafe,
} from '@sinclair/typebox';

/**
 * Schema keywords of this contract in addition to JSON Schema 2020-12. `chosen` marks a decision that the interface
 * document leaves open; a search for the keyword lists all of them.
 * `publishedPattern` is the `pattern` in the published documents. The operation itself refuses a violation with a more
 * specific error.
 */
export interface SchemaNotes {
  readonly description?: string;
  readonly chosen?: true;
  readonly publishedPattern?: string;
}

/**
 * A named schema: a component of the OpenAPI document and a file below `/schemas/`. Inside another schema, every
 * emitter writes a `$ref` to the name.
 */
export function named<Schema extends TSchema>(name: string, schema: Schema): Schema {
  return { ...schema, $id: name };
}

/** An object with exactly these members. */
export function closed<Properties extends TProperties>(
  properties: Properties,
  notes: SchemaNotes & { readonly [keyword: string]: unknown } = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...notes });
}

declare const DEFAULTED: unique symbol;
/** Marks, in types only, a member that the server fills in. */
export interface Defaulted {
  readonly [DEFAULTED]: true;
}

/** A member that callers may omit and that handlers always receive. */
export function defaulted<Schema extends TSchema>(value: Static<Schema>, schema: Schema): Schema & Defaulted {
  return { ...schema, default: value } as Schema & Defaulted;
}

/** A closed enumeration. The description explains each value. */
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

/** One fixed string, such as the `object` member that names the type of a body. */
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

/** An object with any members. */
export function openObject(description: string): TUnsafe<Readonly<Record<string, unknown>>> {
  return Type.Unsafe<Readonly<Record<string, unknown>>>({
    type: 'object',
    additionalProperties: true,
    description,
  });
}

/** States that at most one member of each pair may be present. */
export function mutuallyExclusive(...pairs: readonly (readonly [string, string])[]) {
  return { allOf: pairs.map(([left, right]) => ({ not: { type: 'object', required: [left, right] } })) };
}
