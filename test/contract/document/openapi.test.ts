import { describe, expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { contractDigest, openApiDocument } from '#src/contract/document/openapi.js';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import type { Route } from '#src/contract/grammar/route.js';
import { refusalsOf } from '#src/contract/document/routes.js';
import { publicRoutes } from '#src/contract/document/manifest.js';
import { MANIFEST } from '../../tools/serve.js';

type Json = { readonly [key: string]: unknown };
interface Exclusive {
  readonly properties?: Json;
  readonly allOf?: readonly { readonly not?: { readonly required?: readonly string[] } }[];
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly responses: Readonly<Record<string, { readonly headers: Json; readonly content: Json }>>;
}

const routes: readonly Route[] = publicRoutes(MANIFEST);
const document = openApiDocument(routes, 'http://127.0.0.1:8080');
const operations = Object.values(document['paths'] as Json).flatMap((path) =>
  Object.values(path as Json),
) as Operation[];

/** Returns every `$ref` below a node. */
function references(node: unknown): readonly string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [value] : references(value),
  );
}

/** The beginning of the linter's list of places at which its rule of defined properties does not apply. */
const LINT_IGNORE_HEAD = `# Required properties of a "not both", which the schema around it defines (redocly.yaml).
# openapi.test.ts writes this list.
openapi.json:
  no-required-schema-properties-undefined:
`;

/** Returns a line for each property in a "not both", and checks that its schema defines the property. */
function exclusions(): readonly string[] {
  const { schemas } = document['components'] as { readonly schemas: Record<string, Exclusive> };
  return Object.entries(schemas).flatMap(([schema, { allOf = [], properties = {} }]) =>
    allOf.flatMap(({ not }, at) =>
      (not?.required ?? []).map((property, index) => {
        expect(properties, schema).toHaveProperty(property);
        return `    - '#/components/schemas/${schema}/allOf/${at}/not/required/${index}'\n`;
      }),
    ),
  );
}

describe('the OpenAPI document', () => {
  it('equals the committed one: a difference is a change of the contract and needs a review', async () => {
    await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(
      '../../../config/openapi.json',
    );
  });

  it('has each "not both" of defined properties, at the places that the linter ignores', async () => {
    await expect(`${LINT_IGNORE_HEAD}${exclusions().join('')}`).toMatchFileSnapshot(
      '../../../config/.redocly.lint-ignore.yaml',
    );
  });

  it('has one operation for each public route', () => {
    expect(operations.map(({ operationId }) => operationId).sort()).toEqual([...MANIFEST.routes].sort());
  });

  it('has no dangling reference', () => {
    for (const reference of references(document)) {
      const target = reference
        .slice(2)
        .split('/')
        .reduce<unknown>((node, key) => (node as Json | undefined)?.[key], document);
      expect(target, reference).toBeDefined();
    }
  });

  it('has schemas that a strict JSON Schema 2020-12 validator compiles', () => {
    const ajv = new Ajv2020({
      strict: true,
      strictTypes: false,
      strictRequired: false,
      discriminator: false,
    });
    formats.default(ajv);
    ajv.addVocabulary(['x-chosen', 'discriminator', 'components']);
    ajv.addSchema({ $id: 'https://gloaming.test/document', components: document['components'] });
    const { schemas } = document['components'] as { readonly schemas: Json };
    for (const name of Object.keys(schemas)) {
      expect(ajv.getSchema(`https://gloaming.test/document#/components/schemas/${name}`), name).toBeTypeOf(
        'function',
      );
    }
  });

  it('documents every refusal of every route, its status, its headers and its body', () => {
    for (const route of routes) {
      const { responses } = operations.find(
        ({ operationId }) => operationId === route.operationId,
      ) as Operation;
      for (const code of refusalsOf(route)) {
        const response = responses[String(REFUSALS[code].status)];
        expect(JSON.stringify(response), code).toContain(`\`${code}\``);
        expect(Object.keys(response?.headers ?? {})).toEqual(
          expect.arrayContaining(['X-Request-ID', 'Service-Error-Type', 'Service-Retryable']),
        );
      }
      const success = responses[String(route.success.status)];
      expect(Object.keys(success?.headers ?? {})).toContain('Service-Contract-Digest');
    }
  });

  it('lets every POST carry an Idempotency-Key, and requires no header', () => {
    for (const route of routes) {
      const { parameters } = operations.find(
        ({ operationId }) => operationId === route.operationId,
      ) as Operation;
      const headers = parameters.filter((parameter) => parameter.in === 'header');
      expect(headers.some(({ name }) => name === 'Idempotency-Key')).toBe(route.method === 'POST');
      expect(headers.filter(({ required }) => required)).toEqual([]);
    }
  });

  it('marks the decisions that the interface document leaves open', () => {
    const text = JSON.stringify(document);
    expect(text.match(/"x-chosen":true/g)?.length).toBeGreaterThan(40);
    expect(text).not.toContain('"chosen"');
  });
});

describe('the contract digest', () => {
  it('does not depend on the address of the server', () => {
    expect(contractDigest(openApiDocument(routes, 'https://elsewhere'))).toBe(contractDigest(document));
  });

  it('changes when the contract changes', () => {
    expect(contractDigest(openApiDocument(routes.slice(1), 'x'))).not.toBe(contractDigest(document));
    const [first, ...rest] = routes as [Route, ...Route[]];
    const reworded = { ...first, summary: `${first.summary}.` };
    expect(contractDigest(openApiDocument([reworded, ...rest], 'x'))).not.toBe(contractDigest(document));
  });
});

describe('the public-route manifest', () => {
  it('refuses an operation that the contract lacks, and one listed twice', () => {
    expect(() => publicRoutes({ routes: ['teapot.brew'] })).toThrow(/must be declared/);
    const twice = { routes: ['receipts.get', 'receipts.get'] };
    expect(() => publicRoutes(twice)).toThrow(/listed once/);
  });
});
