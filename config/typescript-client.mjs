// Writes the types of the TypeScript client from config/openapi.json: one file for each group of operations, one name for
// each schema. The build runs it before tsc, because the client imports these types.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';

const COMPONENT = '#/components/schemas/';
export const STYLE = { parser: 'typescript', printWidth: 110, singleQuote: true };
const SIMPLE = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };
const HEAD = '// Written by config/typescript-client.mjs from config/openapi.json.\n';
/** Schemas of the document by name. */
let schemas = {};
/** Text of a nameless object schema → the first member that has it, such as `Run['error']`. */
const places = new Map();

/** @param root the package's folder */
export async function writeTypeScriptClient(root) {
  const document = JSON.parse(readFileSync(join(root, 'config', 'openapi.json'), 'utf8'));
  const folder = join(root, 'src', 'clients', 'typescript', 'types');
  const files = await clientTypes(document);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}

/** Returns the text of each file by its name. */
async function clientTypes(document) {
  schemas = document.components.schemas;
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
 * Returns the names of schemas by the first tag whose operations reach them. `shared` holds the schemas of failures and
 * envelopes. A file imports only from files before it, because a tag that reaches a schema reaches its references too.
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

/** Whether the schema gets a declaration. Alternatives of a union (`HomologyFilter.and`) are written inside the union. */
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
  const imported = new Set(names);
  return [...groups]
    .filter(([other]) => other !== group)
    .map(([other, own]) => [other, own.filter((name) => imported.has(name)).sort()])
    .filter(([, used]) => used.length > 0)
    .map(([other, used]) => `import type { ${used.join(', ')} } from './${other}.js';`)
    .join('\n');
}

/** Writes a schema as an exported interface or type. */
export function declaration(name, schema) {
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
  return [schema.type]
    .flat()
    .map((type) => SIMPLE[type] ?? 'unknown')
    .join(' | ');
}

/** Writes a union; alternatives that differ only in the value of the discriminator become one. */
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

/** @param owner name of the interface; later types refer to its members as `Owner['member']` */
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

/** Writes the type of a member; an object that was written before is referred to by its first place. */
function partOf(schema, place) {
  if (schema.properties === undefined) return typeOf(schema);
  const { description: _, ...shape } = schema;
  const first = places.get(JSON.stringify(shape));
  if (first !== undefined) return first;
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
    '/** Parameters, body and answer of each operation; members of the query may be left out. */',
    `export interface Operations {\n${types.join('\n')}\n}`,
    '',
    '/** Method and path of each operation. */',
    `export const PLACES: { readonly [Id in keyof Operations]: Place } = {\n${places.join('\n')}\n};`,
    '',
    '/** A path with its parameters in braces; `accept` is JSON by default. */',
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
