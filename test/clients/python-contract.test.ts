import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../tools/paths.js';

/* Routes, members and defaults of the Python client against the contract. python.test.ts compares the refusals. */

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly default?: unknown;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const { paths, components } = JSON.parse(read('config/openapi.json')) as Document;
const publicApi = read('test/clients/public-api.txt');

/** Paths that `call` serves and no method of its own does. */
const WITHOUT_METHOD = [
  '/v1/homology/databases/{}/releases',
  '/v1/homology/target-space-compilations',
  '/v1/models/pricing/estimate',
  '/v1/sequences/msa/a3m',
  '/v1/sequences/msa/a3m/{}',
  '/v1/sequences/msa/components',
  '/v1/sql-credentials/{}/rotate',
  '/v1/storage/file-signed-urls',
  '/v1/storage/files',
  '/v1/storage/files/acl',
  // The client follows the URLs of these two, which the appliance signs or returns.
  '/v1/storage/files/{}/{}',
  '/v1/storage/uploads/{}/parts/{}',
  '/v1/webhooks/deliveries',
  '/v1/webhooks/deliveries/{}',
  '/v1/webhooks/deliveries/{}/redeliver',
  '/v1/webhooks/endpoints',
  '/v1/webhooks/endpoints/{}',
  '/v1/webhooks/endpoints/{}/rotate-secret',
];

describe('the Python client', () => {
  it('calls paths of the contract, and all of them except for a known list', () => {
    const sources = ['aio.py', 'flows.py']
      .map((file) => read(`src/clients/python/gloaming/${file}`))
      .join('');
    const called = [...sources.matchAll(/"(\/v1\/[^"]+)"/g)].map(([, path]) => path);
    const expected = Object.keys(paths).filter((path) => !WITHOUT_METHOD.includes(withoutNames(path)));
    expect([...new Set(called.map(withoutNames))].sort()).toEqual(expected.map(withoutNames).sort());
  });

  it('calls every operation of the contract by its id, with the method and path of the document', () => {
    const written = read('src/clients/python/gloaming/operations.py');
    const operations = [...written.matchAll(/^ {4}"([\w.]+)": \("([A-Z]+)", "([^"]+)"\),$/gm)];
    const published = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => [operationId, method.toUpperCase(), path]),
    );
    expect(operations.map(([, ...operation]) => operation)).toEqual(published);
    expect(publicApi.match(/^ {2}(async )?call\(self, operation: str, /gm)).toHaveLength(2);
  });

  it('names arguments as the contract names members, and accepts every other member by its name', () => {
    const own = [
      'query',
      'queries',
      'alignments',
      'idempotency_key',
      'label',
      'priority',
      'webhook_endpoint_id',
    ];
    for (const [method, schema] of [
      ['search', 'HomologyRequest'],
      ['submit', 'SearchRunInput'],
      ['submit', 'BatchSearchRunInput'],
    ] as const) {
      const names = Object.keys(argumentsOf(method)).filter((name) => !own.includes(name));
      expect(names.filter((name) => !(name in membersOf(schema))).sort(), schema).toEqual([]);
      expect(publicApi).toMatch(new RegExp(`^  ${method}\\(.*, \\*\\*members: Any\\)`, 'm'));
    }
    const runMembers = membersOf('RunRequest.homology.search');
    expect(own.slice(4).filter((name) => !(name in runMembers))).toEqual([]);
  });

  it('leaves defaults to the appliance or has those of the contract', () => {
    expect(argumentsOf('sql').limit).toBe(String(membersOf('SqlQueryRequest').limit.default));
    expect(argumentsOf('resolve').limit).toBe(String(membersOf('RefsRequest').limit.default));
    const { alignments, ...others } = { ...argumentsOf('search'), ...argumentsOf('submit') };
    expect(alignments).toBe('True');
    expect(new Set(Object.values(others))).toEqual(new Set(['None']));
  });
});

/** `/v1/runs/{run_id}` → `/v1/runs/{}` */
function withoutNames(path: string): string {
  return path.replaceAll(/\{[^}]*\}/g, '{}');
}

function membersOf(name: string): Readonly<Record<string, Schema>> {
  return components.schemas[name].properties ?? {};
}

/** Keyword arguments of a method and their defaults, from the list of signatures. */
function argumentsOf(method: string): Readonly<Record<string, string>> {
  const [, signature] = new RegExp(`^  ${method}\\((.*)\\) ->`, 'm').exec(publicApi) ?? [];
  return Object.fromEntries(
    [...(signature ?? '').matchAll(/(\w+): [^=:]+ = (\w+)/g)].map(([, name, value]) => [name, value]),
  );
}
