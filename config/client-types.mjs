// Writes the types of the TypeScript client from config/openapi.json: one file for each group of operations, one name for
// each schema. `node config/client-types.mjs [folder]`; test/clients/typescript/types.test.ts holds them against it.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const COMPONENT = '#/components/schemas/';
const STYLE = { parser: 'typescript', printWidth: 110, singleQuote: true };
const SIMPLE = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };
/** Of the document that is being written, and where parts without a name were written first. */
let schemas = {};
const places = new Map();
const HEAD = '// Written by config/client-types.mjs from config/openapi.json.\n';

const document = JSON.parse(readFileSync(join(root, 'config', 'openapi.json'), 'utf8'));
const folder = process.argv[2] ?? join(root, 'src', 'clients', 'typescript', 'types');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, text] of await clientTypes(document)) writeFileSync(join(folder, name), text);

/** The files by name. */
async function clientTypes(document) {
  schemas = document.components.schemas;
  places.clear();
  const operations = operationsOf(document);
  const groups = ownersOf(document, operations);
  const files = new Map();
  for (const [group, names] of groups) files.set(`${group}.ts`, groupFile(group, names, groups));
  files.set('operations.ts', operationsFile(operations, groups));
  for (const [name, text] of files) files.set(name, await format(HEAD + text, STYLE));
  return files;
}

function operationsOf({ paths }) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      method: method.toUpperCase(),
    })),
  );
}

/**
 * Names of schemas by the first tag whose operations reach them; `shared` holds what every failure and envelope has.
 * A file so imports from those before it only: what a schema refers to is reached whenever it is.
 */
function ownersOf({ components, tags }, operations) {
  const owned = new Set();
  const reach = (node, names) => {
    for (const name of referencesIn(node)) {
      if (owned.has(name)) continue;
      owned.add(name);
      names.push(name);
      reach(components.schemas[name], names);
    }
  };
  const groups = new Map([['shared', []]]);
  reach(
    ['FailureEnvelope', 'HomologyFailure', 'Problem', 'Provenance'].map(referenceTo),
    groups.get('shared'),
  );
  for (const { name: tag } of tags) {
    groups.set(tag, []);
    for (const { tags: own, requestBody, responses } of operations) {
      if (own[0] === tag) reach([requestBody, successOf(responses)], groups.get(tag));
    }
  }
  return new Map([...groups].filter(([, names]) => names.some(isNamed)));
}

function referenceTo(name) {
  return { $ref: COMPONENT + name };
}

function referencesIn(node) {
  if (typeof node !== 'object' || node === null) return [];
  const own = typeof node.$ref === 'string' && node.$ref.startsWith(COMPONENT) ? [nameOf(node)] : [];
  return [...own, ...Object.values(node).flatMap(referencesIn)];
}

function nameOf({ $ref }) {
  return $ref.slice(COMPONENT.length);
}
/** Alternatives of a union (`HomologyFilter.and`) are written where the union is. */
function isNamed(name) {
  return !name.includes('.');
}

function successOf(responses) {
  const status = Object.keys(responses).find((code) => code.startsWith('2'));
  return responses[status];
}

function groupFile(group, names, groups) {
  const text = names
    .filter(isNamed)
    .map((name) => declaration(name, schemas[name]))
    .join('\n\n');
  const code = text.replace(/\/\*\*[^]*?\*\//g, '').replace(/'[^'\n]*'|"[^"\n]*"/g, '');
  const words = new Set(code.match(/\w+/g));
  const others = [...groups.values()].flat().filter((name) => words.has(name));
  return `${importsFor(others, group, groups)}\n\n${text}\n`;
}

function importsFor(names, group, groups) {
  const wanted = new Set(names);
  return [...groups]
    .filter(([other]) => other !== group)
    .map(([other, own]) => [other, own.filter((name) => wanted.has(name)).sort()])
    .filter(([, used]) => used.length > 0)
    .map(([other, used]) => `import type { ${used.join(', ')} } from './${other}.js';`)
    .join('\n');
}

function declaration(name, schema) {
  const isInterface =
    schema.type === 'object' && schema.properties !== undefined && schema.oneOf === undefined;
  const body = isInterface ? objectOf(schema, name) : typeOf(schema);
  return `${comment(schema)}export ${isInterface ? `interface ${name} ${body}` : `type ${name} = ${body};`}`;
}

function comment({ description, default: preset }) {
  const words = [description, preset === undefined ? undefined : `Default: ${JSON.stringify(preset)}.`];
  const lines = words
    .filter(Boolean)
    .join(description?.startsWith('- ') ? '\n' : ' ')
    .replaceAll('*/', '* /')
    .split('\n')
    .flatMap(wrapped);
  if (lines.length === 0) return '';
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}`).join('\n')}\n */\n`;
}

function wrapped(text) {
  return text.match(/.{1,96}(?:\s|$)|\S+/g)?.map((line) => line.trimEnd()) ?? [];
}

function typeOf(schema) {
  if (schema.$ref !== undefined)
    return isNamed(nameOf(schema)) ? nameOf(schema) : typeOf(schemas[nameOf(schema)]);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const alternatives = schema.oneOf ?? (schema.properties === undefined ? schema.anyOf : undefined);
  if (alternatives !== undefined) return unionOf(alternatives, schema.discriminator?.propertyName);
  if (schema.type === 'array') return `readonly (${typeOf(schema.items ?? {})})[]`;
  if (schema.type === 'object') return objectOf(schema);
  return SIMPLE[schema.type] ?? 'unknown';
}

/** Alternatives that differ in the value of the discriminator only are one. */
function unionOf(alternatives, discriminator) {
  const whole = alternatives.map((each) =>
    each.$ref && !isNamed(nameOf(each)) ? schemas[nameOf(each)] : each,
  );
  if (discriminator === undefined) return whole.map(typeOf).join(' | ');
  const joined = new Map();
  for (const each of whole) {
    const {
      [discriminator]: { const: value },
      ...rest
    } = each.properties;
    const members = JSON.stringify(rest);
    joined.set(members, { each, values: [...(joined.get(members)?.values ?? []), value] });
  }
  return [...joined.values()]
    .map(({ each, values }) => {
      const properties = { ...each.properties, [discriminator]: { enum: values } };
      return objectOf({ ...each, properties });
    })
    .join(' | ');
}

/** @param owner name of the interface, whose parts others may then be called by */
function objectOf({ properties, required = [], additionalProperties, patternProperties }, owner) {
  if (properties === undefined) {
    const values = additionalProperties || Object.values(patternProperties ?? {})[0];
    return `Readonly<Record<string, ${typeof values === 'object' ? typeOf(values) : 'unknown'}>>`;
  }
  const members = Object.entries(properties).map(([name, schema]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    const isRequired = required.includes(name);
    const type = partOf(schema, owner === undefined || !isRequired ? undefined : `${owner}['${name}']`);
    return `${comment(schema)}readonly ${key}${isRequired ? '' : '?'}: ${type};`;
  });
  return `{\n${members.join('\n')}\n}`;
}

/** An object with members that was written before is called by where it stands. */
function partOf(schema, place) {
  if (schema.properties === undefined) return typeOf(schema);
  const { description: _, ...shape } = schema;
  const known = places.get(JSON.stringify(shape));
  if (known !== undefined) return known;
  if (place !== undefined) places.set(JSON.stringify(shape), place);
  return objectOf(schema);
}

function operationsFile(operations, groups) {
  const roots = operations.flatMap(({ requestBody, responses }) =>
    referencesIn([requestBody, successOf(responses)]),
  );
  const types = operations.map(
    (operation) => `${JSON.stringify(operation.operationId)}: ${operationType(operation)};`,
  );
  const places = operations.map(({ operationId, method, path, responses }) => {
    const mediaType = Object.keys(successOf(responses).content)[0];
    const accept = mediaType === 'application/json' ? '' : `, accept: ${JSON.stringify(mediaType)}`;
    return `${JSON.stringify(operationId)}: { method: '${method}', path: '${path}'${accept} },`;
  });
  return [
    importsFor(roots, 'operations', groups),
    '/** What each operation takes and answers; members of the query may be left out. */',
    `export interface Operations {\n${types.join('\n')}\n}`,
    '',
    '/** Where each operation is. */',
    `export const PLACES: { readonly [Id in keyof Operations]: Place } = {\n${places.join('\n')}\n};`,
    '',
    '/** A path with its parameters in braces; the type that is asked for is JSON unless it is said. */',
    'export interface Place { readonly method: string; readonly path: string; readonly accept?: string }',
  ].join('\n');
}

function operationType({ summary, parameters = [], requestBody, responses }) {
  const named = (place) => parameters.filter((each) => each.in === place);
  const members = (list) =>
    `{ ${list.map(({ name, required, schema }) => `readonly ${name}${required ? '' : '?'}: ${typeOf(schema)}`).join('; ')} }`;
  const body = requestBody?.content['application/json']?.schema;
  const [answer] = Object.values(successOf(responses).content);
  const parts = [
    ...(named('path').length > 0 ? [`readonly params: ${members(named('path'))}`] : []),
    ...(named('query').length > 0 ? [`readonly query?: ${members(named('query'))}`] : []),
    ...(body === undefined ? [] : [`readonly body: ${typeOf(body)}`]),
    `readonly answer: ${typeOf(answer.schema ?? {})}`,
  ];
  return `{\n${comment({ description: summary })}${parts.join(';\n')};\n}`;
}
