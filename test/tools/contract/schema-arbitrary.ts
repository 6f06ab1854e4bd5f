import fc from 'fast-check';

export type Json = Readonly<Record<string, unknown>>;

/** Values by the name of the member or parameter that may hold them. */
export type KnownValues = Readonly<Record<string, readonly unknown[]>>;

export interface Grammar {
  /** `components.schemas` of the document. */
  readonly components: Json;
  readonly values: KnownValues;
}

const LONGEST_TEXT = 40;
const MOST_ITEMS = 4;

/**
 * Arbitrary values of a JSON Schema in the OpenAPI document, as a client that has only the document may send. Strings
 * are mostly short, and sometimes at their bounds.
 */
export function valuesOf(schema: Json, grammar: Grammar, name = '', depth = 0): fc.Arbitrary<unknown> {
  const ofName = grammar.values[name] ?? [];
  const any = anyOf(schema, grammar, depth);
  return ofName.length === 0
    ? any
    : fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ofName) }, { weight: 1, arbitrary: any });
}

function anyOf(schema: Json, grammar: Grammar, depth: number): fc.Arbitrary<unknown> {
  if (typeof schema['$ref'] === 'string') return anyOf(resolve(schema, grammar), grammar, depth);
  const alternatives = (schema['oneOf'] ?? schema['anyOf']) as readonly Json[] | undefined;
  if (alternatives !== undefined) {
    // Recursive alternatives come first in a filter. Deep inside, only non-recursive ones are allowed.
    const open =
      depth > 3
        ? alternatives.filter((inner) => !/filters?"/.test(JSON.stringify(resolve(inner, grammar))))
        : alternatives;
    return fc.oneof(...open.map((inner) => anyOf(inner, grammar, depth + 1)));
  }
  if (schema['const'] !== undefined) return fc.constant(schema['const']);
  if (Array.isArray(schema['enum'])) return fc.constantFrom(...(schema['enum'] as unknown[]));
  switch (schema['type']) {
    case 'object':
      return objectsOf(schema, grammar, depth);
    case 'array': {
      const { minItems = 0, maxItems = MOST_ITEMS } = schema as {
        readonly minItems?: number;
        readonly maxItems?: number;
      };
      const maxLength = Math.max(minItems, Math.min(maxItems, MOST_ITEMS));
      return fc.array(anyOf(schema['items'] as Json, grammar, depth + 1), {
        minLength: minItems,
        maxLength,
      });
    }
    case 'integer':
      return integersOf(schema);
    case 'number':
      return fc.double({ noNaN: true, noDefaultInfinity: true });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'string':
      return stringsOf(schema);
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function resolve(schema: Json, { components }: Grammar): Json {
  if (typeof schema['$ref'] !== 'string') return schema;
  return components[schema['$ref'].slice('#/components/schemas/'.length)] as Json;
}

function objectsOf(schema: Json, grammar: Grammar, depth: number): fc.Arbitrary<unknown> {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
  const model = Object.fromEntries(
    Object.entries(properties).map(([name, inner]) => [name, valuesOf(inner, grammar, name, depth + 1)]),
  );
  const requiredKeys = (schema['required'] ?? []) as string[];
  return fc.record(model, { requiredKeys }).map((value) => withoutExcluded(value, schema));
}

/** Keeps the first of members that exclude each other (`not: { required: [a, b] }`). */
function withoutExcluded(value: Record<string, unknown>, schema: Json): Record<string, unknown> {
  const rules = (schema['allOf'] ?? []) as readonly {
    readonly not?: { readonly required?: readonly string[] };
  }[];
  const rest = { ...value };
  for (const [first, second] of rules.flatMap(({ not }) => (not?.required ? [not.required] : []))) {
    if (first !== undefined && second !== undefined && first in rest && second in rest) delete rest[second];
  }
  return rest;
}

function integersOf(schema: Json): fc.Arbitrary<number> {
  const { minimum = -1_000, maximum = 1_000_000 } = schema as {
    readonly minimum?: number;
    readonly maximum?: number;
  };
  return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum));
}

function stringsOf(schema: Json): fc.Arbitrary<string> {
  if (typeof schema['pattern'] === 'string') return matching(schema['pattern']);
  const { minLength = 0, maxLength = LONGEST_TEXT } = schema as {
    readonly minLength?: number;
    readonly maxLength?: number;
  };
  const short = fc.string({
    minLength,
    maxLength: Math.max(minLength, Math.min(maxLength, LONGEST_TEXT)),
    unit: 'binary',
  });
  const atBound = fc.constantFrom('x'.repeat(minLength), 'x'.repeat(maxLength));
  return fc.oneof({ weight: 9, arbitrary: short }, { weight: 1, arbitrary: atBound });
}

/** Short matching strings for patterns with look-ahead, which the generator does not support. */
export function matching(pattern: string): fc.Arbitrary<string> {
  if (!pattern.includes('(?!')) return fc.stringMatching(new RegExp(pattern));
  const whole = new RegExp(pattern, 'u');
  const names = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' });
  return fc
    .oneof(
      names,
      fc.tuple(names, names).map((parts) => parts.join('/')),
    )
    .filter((text) => whole.test(text));
}

/** The value with one change, selected by `at`: a member removed, added or replaced. */
export function broken(value: unknown, at: number, replacement: unknown): unknown {
  const copy: unknown = structuredClone(value);
  const places = placesIn(copy);
  if (places.length === 0) return replacement;
  const { holder, key } = places[at % places.length] as Place;
  const way = Math.floor(at / places.length) % 3;
  if (way === 0) holder[key] = replacement;
  else if (way === 1 && !Array.isArray(holder)) delete holder[key];
  else if (!Array.isArray(holder)) holder['surplus'] = replacement;
  else (holder as unknown[]).push(replacement);
  return copy;
}

interface Place {
  readonly holder: Record<string, unknown>;
  readonly key: string;
}

function placesIn(value: unknown): readonly Place[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}
