import fc from 'fast-check';
import { matching, type Json, type KnownValues } from './schema-arbitrary.js';

/*
 * Copies of a valid value that differ from it in one place, at or beyond a bound of its JSON Schema. Random values
 * rarely reach these bounds.
 */

export interface SchemaCase {
  /** The changed place, and the kind of change. */
  readonly what: string;
  readonly value: unknown;
}

export interface CaseSource {
  /** `components.schemas` of the document. */
  readonly components: Json;
  readonly values: KnownValues;
}

const DEEPEST = 5;
const LONGEST = 5_000;

/** A minimal valid value of the schema. */
export function exampleOf(schema: Json, source: CaseSource, name = '', depth = 0): unknown {
  const node = resolve(schema, source);
  // Members with the same name may have different schemas.
  const ofName = source.values[name]?.find((value) =>
    new RegExp(String(node['pattern'] ?? ''), 'u').test(String(value)),
  );
  if (ofName !== undefined) return ofName;
  if (node['const'] !== undefined) return node['const'];
  if (node['default'] !== undefined) return node['default'];
  const [given] = (node['examples'] ?? node['enum'] ?? []) as readonly unknown[];
  if (given !== undefined) return given;
  const alternatives = alternativesOf(node);
  if (alternatives.length > 0) return exampleOf(simplest(alternatives, source), source, name, depth + 1);
  switch (node['type']) {
    case 'object':
      return objectOf(node, source, depth);
    case 'array': {
      const items = node['items'] as Json;
      return Array.from({ length: Number(node['minItems'] ?? 0) }, () =>
        exampleOf(items, source, '', depth + 1),
      );
    }
    case 'integer':
    case 'number':
      return node['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'string':
      return textOf(node);
    default:
      return null;
  }
}

function objectOf(node: Json, source: CaseSource, depth: number): Json {
  const names = (node['required'] ?? []) as readonly string[];
  const properties = propertiesOf(node);
  const least = Number(node['minProperties'] ?? 0);
  const extra = names.length < least ? [['x', exampleOf(node['additionalProperties'] as Json, source)]] : [];
  return Object.fromEntries([
    ...names.map((name) => [name, exampleOf(properties[name] as Json, source, name, depth + 1)]),
    ...extra,
  ]) as Json;
}

/** Recursive alternatives would not end, so the one with the shortest text is used. */
function simplest(alternatives: readonly Json[], source: CaseSource): Json {
  const weight = (schema: Json): number => {
    const node = resolve(schema, source);
    return JSON.stringify(node).length + (/filters?"/.test(JSON.stringify(node)) ? 1e6 : 0);
  };
  return [...alternatives].sort((one, other) => weight(one) - weight(other))[0] as Json;
}

function textOf(node: Json): string {
  if (typeof node['pattern'] === 'string') return sample(matching(node['pattern']));
  if (node['format'] === 'uri') return 'http://127.0.0.1:9/';
  if (node['format'] === 'date-time') return '2026-01-01T00:00:00Z';
  return 'x'.repeat(Math.max(1, Number(node['minLength'] ?? 1)));
}

function sample(arbitrary: fc.Arbitrary<string>): string {
  return fc.sample(arbitrary, { numRuns: 1, seed: 1 })[0] as string;
}

/** Values that differ from the example in one place. Most are valid; the caller checks them against the schema. */
export function casesAround(
  schema: Json,
  example: unknown,
  source: CaseSource,
  depth = 0,
): readonly SchemaCase[] {
  const node = resolve(schema, source);
  const own = boundsOf(node, source).map((value) => ({ what: `= ${show(value)}`, value }));
  if (depth > DEEPEST || typeof example !== 'object' || example === null) return own;
  if (Array.isArray(example)) return [...own, ...arrayCases(node, example, source, depth)];
  const object = example as Json;
  const properties = propertiesOf(node);
  const inner = Object.entries(properties).flatMap(([name, property]) => {
    const value = object[name] ?? exampleOf(property, source, name, depth + 1);
    const whole = { what: name, value: { ...object, [name]: value } };
    const changed = casesAround(property, value, source, depth + 1).map((each) => ({
      what: `${name}${each.what.startsWith('=') ? ' ' : '.'}${each.what}`,
      value: { ...object, [name]: each.value },
    }));
    return [whole, ...changed];
  });
  const without = Object.keys(object).map((name) => ({
    what: `without ${name}`,
    value: Object.fromEntries(Object.entries(object).filter(([key]) => key !== name)),
  }));
  return [...own, ...inner, ...without, { what: 'surplus', value: { ...object, surplus_member: 1 } }];
}

function arrayCases(node: Json, example: readonly unknown[], source: CaseSource, depth: number) {
  const items = node['items'] as Json;
  const item = example[0] ?? exampleOf(items, source, '', depth + 1);
  const changed = casesAround(items, item, source, depth + 1).map(({ what, value }) => ({
    what: `[0].${what}`,
    value: [value, ...example.slice(1)],
  }));
  const one = Number(node['minItems'] ?? 0);
  const most = Number(node['maxItems'] ?? 0);
  const lengths = [one, one - 1, ...(most > 0 && most < LONGEST ? [most, most + 1] : [])].filter(
    (n) => n >= 0,
  );
  return [
    ...changed,
    ...lengths.map((n) => ({ what: `of ${n}`, value: Array.from({ length: n }, () => item) })),
  ];
}

/** Values on both sides of a type's bounds, and values of other types. */
function boundsOf(node: Json, source: CaseSource): readonly unknown[] {
  const foreign: readonly unknown[] = [null, true, 7.5, 'text', [], {}];
  const bound = (keyword: string): number | undefined => node[keyword] as number | undefined;
  const edges = (keyword: string, out: 1 | -1): readonly unknown[] =>
    bound(keyword) === undefined ? [] : [bound(keyword), (bound(keyword) as number) + out];
  const lengths = ['minLength', 'maxLength']
    .flatMap((keyword) => edges(keyword, keyword === 'minLength' ? -1 : 1))
    .filter((length) => Number(length) >= 0 && Number(length) <= LONGEST)
    .flatMap((length) => ['x'.repeat(Number(length)), '\u{1f980}'.repeat(Number(length))]);
  return [
    ...foreign,
    ...((node['enum'] ?? []) as readonly unknown[]),
    ...alternativesOf(node).map((inner) => exampleOf(inner, source)),
    ...(node['type'] === 'string' ? [...lengths, '', ' ', '\u0000', '\'"<>', 'é'] : []),
    ...(node['type'] === 'integer' || node['type'] === 'number'
      ? [...edges('minimum', -1), ...edges('maximum', 1), 0, -1, 2 ** 53, 1e308]
      : []),
  ];
}

function resolve(schema: Json, { components }: CaseSource): Json {
  if (typeof schema['$ref'] !== 'string') return schema;
  return components[schema['$ref'].slice('#/components/schemas/'.length)] as Json;
}

function alternativesOf(node: Json): readonly Json[] {
  return (node['oneOf'] ?? node['anyOf'] ?? []) as readonly Json[];
}

function propertiesOf(node: Json): Readonly<Record<string, Json>> {
  return (node['properties'] ?? {}) as Readonly<Record<string, Json>>;
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 40 ? `${text.slice(0, 40)}… (${text.length})` : text;
}
