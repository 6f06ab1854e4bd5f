import type { TSchema } from '@sinclair/typebox';

type Json = Readonly<Record<string, unknown>>;

/**
 * Paths of a schema's fields that had fewer than two different values in these bodies; `[]` stands for any row.
 * A field that is absent in one body and present in another has changed.
 */
export function unchangingFields(schema: TSchema, bodies: readonly unknown[]): readonly string[] {
  return fieldsOf(schema as Json, '').filter((path) => {
    const values = bodies.map((body) => JSON.stringify(valuesAt(body, path.split('.').slice(1))));
    const rows = path.includes('[]')
      ? bodies.flatMap((body) => valuesAt(body, path.split('.').slice(1)))
      : [];
    return new Set([...values, ...rows.map((row) => JSON.stringify([row]))]).size < 2;
  });
}

/** `.database.id`, `.candidates.[].rank`: every field that is no object of named fields itself. */
function fieldsOf(schema: Json, path: string): readonly string[] {
  const properties = schema['properties'] as Readonly<Record<string, Json>> | undefined;
  if (properties !== undefined) {
    return Object.entries(properties).flatMap(([name, inner]) => fieldsOf(inner, `${path}.${name}`));
  }
  const items = schema['items'] as Json | undefined;
  return items?.['properties'] === undefined ? [path] : fieldsOf(items, `${path}.[]`);
}

function valuesAt(node: unknown, path: readonly string[]): readonly unknown[] {
  const [name, ...rest] = path;
  if (name === undefined) return [node];
  if (name === '[]') return Array.isArray(node) ? node.flatMap((row) => valuesAt(row, rest)) : [];
  if (typeof node !== 'object' || node === null || !(name in node)) return [];
  return valuesAt((node as Json)[name], rest);
}
