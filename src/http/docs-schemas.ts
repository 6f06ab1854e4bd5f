import type { TSchema } from '@sinclair/typebox';
import { namedSchemas, withReferences, type JsonSchema } from '../contract/references.js';
import { escapeHtml, markCode } from './docs-text.js';

const SELF = (name: string): string => name;

/** Every named schema that these reach, as a section with a table of its members. */
export function schemaSections(roots: readonly TSchema[]): string {
  return [...namedSchemas(roots, SELF)].map(([name, schema]) => schemaSection(name, schema)).join('\n');
}

/** Members of an object, with those of unnamed objects inside it below them. */
export function memberTable(schema: TSchema | JsonSchema): string {
  const rows = memberRows(withReferences(schema, SELF), '');
  return rows === '' ? '' : `<table><tr><th>Member<th>Type<th>Meaning</tr>${rows}</table>`;
}

function schemaSection(name: string, schema: JsonSchema): string {
  const alternatives = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonSchema[] | undefined;
  return [
    `<h3 id="schema-${name}"><code>${name}</code></h3>`,
    typeof schema['description'] === 'string' ? `<p>${markCode(schema['description'])}</p>` : '',
    alternatives === undefined ? '' : `<p>One of ${alternatives.map(typeOf).join(', ')}.</p>`,
    schema['properties'] === undefined ? '' : memberTable(schema),
  ].join('\n');
}

function memberRows(schema: JsonSchema, path: string): string {
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, JsonSchema>>)
    .map(([name, inner]) => {
      const isRow = inner['type'] === 'array';
      const nested = isRow ? (inner['items'] as JsonSchema) : inner;
      const place = `${path}${name}${isRow ? '[]' : ''}`;
      const optional = required.includes(name) ? '' : ', optional';
      const meaning = typeof inner['description'] === 'string' ? markCode(inner['description']) : '';
      const row = `<tr><td><code>${escapeHtml(place)}</code><td>${typeOf(inner)}${optional}<td>${meaning}</tr>`;
      return row + memberRows(nested, `${place}.`);
    })
    .join('\n');
}

function typeOf(schema: JsonSchema): string {
  if (typeof schema['$ref'] === 'string') {
    return `<a href="#schema-${schema['$ref']}"><code>${schema['$ref']}</code></a>`;
  }
  if (schema['const'] !== undefined) return `<code>${escapeHtml(JSON.stringify(schema['const']))}</code>`;
  if (schema['type'] === 'array') return `array of ${typeOf(schema['items'] as JsonSchema)}`;
  const alternatives = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonSchema[] | undefined;
  if (alternatives !== undefined) return alternatives.map(typeOf).join(' or ');
  return [String(schema['type'] ?? 'any'), ...boundsOf(schema)].join(', ');
}

function boundsOf(schema: JsonSchema): readonly string[] {
  const say = (keyword: string, text: string): readonly string[] =>
    schema[keyword] === undefined ? [] : [`${text} <code>${escapeHtml(String(schema[keyword]))}</code>`];
  return [
    ...say('minimum', 'at least'),
    ...say('maximum', 'at most'),
    ...say('minLength', 'characters at least'),
    ...say('maxLength', 'characters at most'),
    ...say('pattern', 'like'),
    ...say('format', 'format'),
    ...say('default', 'default'),
  ];
}
