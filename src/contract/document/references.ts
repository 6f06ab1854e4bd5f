import type { TSchema } from '@sinclair/typebox';

export type JsonSchema = { readonly [keyword: string]: unknown };

/** Keywords whose value maps names of the data, not keywords, to schemas. */
const MAPS_OF_SCHEMAS = new Set(['properties', 'patternProperties', '$defs']);

/**
 * Returns a schema as plain JSON, in which a reference replaces every named schema. A member with a default is not
 * required, because the server fills it in.
 *
 * @param onNamed called with every named schema in the schema, also with those behind references
 */
export function withReferences(
  schema: TSchema | JsonSchema,
  reference: (name: string) => string,
  onNamed: (name: string, schema: JsonSchema) => void = () => undefined,
): JsonSchema {
  const resolve = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(resolve);
    if (typeof node !== 'object' || node === null) return node;
    const inner = node as JsonSchema;
    if (typeof inner.$id === 'string') {
      onNamed(inner.$id, inner);
      return { $ref: reference(inner.$id) };
    }
    return members(inner);
  };
  const members = (node: JsonSchema): JsonSchema => {
    const result: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(node)) {
      if (keyword === '$id') continue;
      if (keyword === '$ref') result.$ref = reference(value as string);
      else if (keyword === 'required') result.required = withoutDefaulted(node);
      else if (keyword === 'enum' || keyword === 'const' || keyword === 'default' || keyword === 'examples') {
        result[keyword] = value;
      } else if (MAPS_OF_SCHEMAS.has(keyword)) {
        result[keyword] = Object.fromEntries(
          Object.entries(value as object).map(([name, s]) => [name, resolve(s)]),
        );
      } else result[keyword] = resolve(value);
    }
    if (Array.isArray(result.required) && result.required.length === 0) delete result.required;
    return result;
  };
  return members(schema as JsonSchema);
}

function withoutDefaulted(node: JsonSchema): readonly string[] {
  const properties = (node.properties ?? {}) as Readonly<Record<string, JsonSchema | undefined>>;
  return (node.required as readonly string[]).filter((name) => properties[name]?.default === undefined);
}

/** Returns every named schema that these schemas reach, by name. Each is plain JSON with references. */
export function namedSchemas(
  roots: readonly (TSchema | JsonSchema)[],
  reference: (name: string) => string,
): ReadonlyMap<string, JsonSchema> {
  const schemas = new Map<string, JsonSchema>();
  const visit = (name: string, schema: JsonSchema): void => {
    if (schemas.has(name)) return;
    // Set before the descent, because a recursive schema reaches itself.
    schemas.set(name, schema);
    schemas.set(name, withReferences(schema, reference, visit));
  };
  withReferences({ anyOf: roots }, reference, visit);
  return new Map([...schemas].sort(([left], [right]) => (left < right ? -1 : 1)));
}
