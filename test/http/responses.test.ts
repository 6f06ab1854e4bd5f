import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { REFUSALS } from '#src/contract/grammar/refusals.js';
import { ROUTES } from '#src/contract/document/routes.js';
import { expectCommonHeaders, expectFailure, expectSuccess, readResponse } from '../tools/expectations.js';
import {
  DIGEST_64,
  get,
  KEY,
  OTHER_KEY,
  post,
  searchBody,
  sendRaw,
  serve,
  type Served,
} from '../tools/serve.js';
import { ROOT } from '../tools/paths.js';

const RECEIPT = `/v1/receipts/rcpt_${DIGEST_64}`;

let served: Served;
beforeAll(async () => {
  served = await serve();
});
afterAll(() => served.close());

async function ask(method: string, path: string, headers: Readonly<Record<string, string>> = {}) {
  return readResponse(
    await fetch(served.origin + path, { method, headers: { authorization: `Bearer ${KEY}`, ...headers } }),
  );
}

describe('every response carries the common headers:', () => {
  it.each([
    '/healthz',
    '/readyz',
    '/metrics',
    '/openapi.json',
    '/docs',
    '/docs/api',
    '/docs/errors',
    '/docs/start',
    '/schemas/Problem.json',
    '/nowhere',
    '/',
  ])('GET %s', async (path) => expectCommonHeaders(await ask('GET', path)));

  it.each(['/v1/homology', RECEIPT, '/healthz'])('OPTIONS %s, with the methods that it has', async (path) => {
    const response = await ask('OPTIONS', path, { authorization: '' });
    expectCommonHeaders(response);
    expect(response.status).toBe(204);
    expect(response.headers['allow']).toBe(path === '/v1/homology' ? 'OPTIONS, POST' : 'GET, HEAD, OPTIONS');
  });

  it('OPTIONS *', async () => {
    const [response] = await sendRaw(served.port, 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(response?.status).toBe(204);
    expectCommonHeaders(response!);
  });
});

describe('HEAD', () => {
  it('has the headers of GET and no body', async () => {
    const [head, whole] = [await ask('HEAD', RECEIPT), await ask('GET', RECEIPT)];
    expect(head.status).toBe(200);
    expect(head.body).toBe('');
    expect(head.headers['content-type']).toBe(whole.headers['content-type']);
    expect(Number(head.headers['content-length'])).toBeGreaterThan(100);
  });

  it('is refused like GET', async () => {
    const response = await ask('HEAD', RECEIPT, { authorization: '' });
    expect(response.status).toBe(401);
    expect(response.headers['service-error-type']).toBe('missing_api_key');
  });
});

describe('HEAD', () => {
  const VARYING = ['x-request-id', 'date', 'keep-alive', 'connection', 'transfer-encoding'];
  const paths = [
    '/',
    '/healthz',
    '/health',
    '/readyz',
    '/openapi.json',
    '/docs',
    '/docs/errors',
    '/schemas/Problem.json',
    '/console',
    '/console/',
    '/client/python/',
    '/nowhere',
    ...Object.values(ROUTES)
      .filter(({ method }) => method === 'GET')
      .map(({ path }) => path.replaceAll(/\{\w+\}/g, 'x')),
    RECEIPT,
    '/v1/runs',
    '/v1/homology/databases',
  ];

  it.each([...new Set(paths)])('of %s has status and headers of GET', async (path) => {
    for (const accept of ['*/*', 'text/html']) {
      const [head, whole] = [await askOnce('HEAD', path, accept), await askOnce('GET', path, accept)];
      expect(head.body).toBe('');
      expect(head.status).toBe(whole.status);
      const same = (headers: Headers) =>
        Object.fromEntries([...headers].filter(([name]) => !VARYING.includes(name)));
      const { 'content-length': length, ...others } = same(head.headers);
      const { 'content-length': wholeLength, ...expected } = same(whole.headers);
      expect(others).toEqual(expected);
      // Duration and request id of an envelope change its length by a digit or two.
      expect(Math.abs(Number(length ?? 0) - Number(wholeLength ?? 0))).toBeLessThanOrEqual(4);
    }
  });

  async function askOnce(method: string, path: string, accept: string) {
    const headers = { authorization: `Bearer ${KEY}`, accept };
    const response = await fetch(served.origin + path, { method, headers, redirect: 'manual' });
    return { status: response.status, headers: response.headers, body: await response.text() };
  }
});

describe('Accept', () => {
  it.each(['application/json; charset=utf-8', ', ,', 'application/json;charset="utf-8";q=0.9, text/html'])(
    '%s is served with JSON',
    async (accept) => {
      const answer = await post(served, '/v1/homology', searchBody(), { accept });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect((await ask('GET', RECEIPT, { accept })).status).toBe(200);
    },
  );

  it('that excludes JSON is refused all the same', async () => {
    for (const accept of ['application/json;q=0', 'application/json; charset=latin1', 'text/html']) {
      expect((await ask('GET', RECEIPT, { accept })).status, accept).toBe(406);
    }
  });
});

describe('a fault of a body', () => {
  it('is a problem where the schema has it, and an envelope where the operation refuses the value', async () => {
    const runs = (input: object) =>
      post(served, '/v1/runs', JSON.stringify({ endpoint: 'homology.search', input }));
    const query = { kind: 'protein_sequence', sequence: 'MKV' };
    const problem = await runs({ query, limit: 10_001 });
    expect(problem.status).toBe(422);
    expect(problem.headers.get('content-type')).toBe('application/problem+json');
    expect(await problem.json()).toMatchObject({
      code: 'validation_failed',
      errors: [{ location: 'body.input.limit' }],
    });
    const refused = await runs({ query, limit: 10 });
    expect(refused.headers.get('content-type')).toBe('application/json');
    expect(await refused.json()).toMatchObject({ ok: false, error: { code: 'database_not_found' } });
    const readings = readFileSync(join(ROOT, 'src/contract/README.md'), 'utf8');
    expect(readings).toContain('422 `validation_failed` as a problem body, also for a limit out of range');
  });
});

describe('405', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'])(
    'names the methods of the search route for %s',
    async (method) => {
      const response = await ask(method, '/v1/homology');
      expect(response.status).toBe(405);
      expect(response.headers['allow']).toBe('OPTIONS, POST');
      expectCommonHeaders(response);
    },
  );
});

describe('a request', () => {
  it('gets a new id; the id that it brings is only logged', async () => {
    const response = await ask('GET', RECEIPT, { 'x-request-id': 'req_mine' });
    expect(response.headers['x-request-id']).not.toBe('req_mine');
    expect(served.logged.at(-1)).toMatchObject({
      inbound_request_id: 'req_mine',
      organization_id: 'one',
      status: 200,
    });
  });

  it('in absolute form is served as in origin form', async () => {
    const [response] = await sendRaw(served.port, `GET http://elsewhere/healthz HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(response?.status).toBe(200);
  });

  it('of HTTP/1.0 without Host is served', async () => {
    const [response] = await sendRaw(served.port, 'GET /healthz HTTP/1.0\r\n\r\n');
    expect(response?.status).toBe(200);
  });

  it('with Expect: 100-continue gets 100, and is served', async () => {
    const body = searchBody();
    const head =
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nExpect: 100-continue\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
    const [response] = await sendRaw(served.port, head + body);
    expect(response?.status).toBe(200);
  });

  it('with a chunked body is served', async () => {
    const body = searchBody();
    const [response] = await sendRaw(
      served.port,
      `POST /v1/homology HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${KEY}\r\nTransfer-Encoding: chunked\r\n` +
        `Content-Type: application/json; charset=UTF-8\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
    );
    expectSuccess(response!, ROUTES['homology.search']);
  });

  it('is never answered with an address from the request', async () => {
    const forged = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      forwarded: 'host=evil.example',
    };
    for (const response of [await ask('GET', RECEIPT, forged), await ask('GET', '/nowhere', forged)]) {
      expect(JSON.stringify(response)).not.toContain('evil.example');
    }
    const [raw] = await sendRaw(served.port, 'GET /nowhere HTTP/1.1\r\nHost: evil.example\r\n\r\n');
    expect(JSON.stringify(raw)).not.toContain('evil.example');
  });

  it('for an object of another organization is refused and learns only that', async () => {
    const response = await ask('GET', RECEIPT, { authorization: `Bearer ${OTHER_KEY}` });
    expectFailure(response, 'permission_denied', ROUTES['receipts.get']);
  });
});

describe('the envelope', () => {
  it('wraps a created object with its provenance', async () => {
    const request = { DatabaseReleaseID: `dbr_${DIGEST_64}`, Filter: { op: 'exists', field: 'organism' } };
    const response = await readResponse(
      await post(served, '/v1/homology/target-space-compilations', JSON.stringify(request)),
    );
    const body = expectSuccess(response, ROUTES['homology.target_space_compilations.create']) as {
      readonly $schema: string;
      readonly provenance: Readonly<Record<string, unknown>>;
    };
    expect(body.provenance['request_id']).toBe(response.headers['x-request-id']);
    expect(body.provenance['generated_object_ids']).toEqual([`htsp_${DIGEST_64}`]);
    expect((await ask('GET', new URL(body.$schema).pathname)).status).toBe(200);
  });

  it('names a request without body by the hash of null', async () => {
    const { provenance } = JSON.parse((await ask('GET', RECEIPT)).body) as {
      readonly provenance: { readonly input_hash: string };
    };
    expect(provenance.input_hash).toBe('74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b');
  });
});

describe('internal pages', () => {
  it('explain every error code under the anchor of doc_url', async () => {
    const { body } = await ask('GET', '/docs/errors');
    for (const code of Object.keys(REFUSALS)) expect(body).toContain(`id="${code}"`);
    expect(body).not.toMatch(/(src|href)="https?:/);
  });

  it('show the contract with Swagger UI, without inline script and from this server only', async () => {
    const { body, headers } = await ask('GET', '/docs/api', { authorization: '' });
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self'; /);
    expect(body).not.toMatch(/<script>|(src|href)="(https?:)?\/\//);
    // Relative to the page, which a proxy may serve below a path.
    const files = [...body.matchAll(/(?:src|href)="([^"]+\.\w+)"/g)].map(
      ([, path]) => new URL(path as string, 'http://appliance/docs/api').pathname,
    );
    expect(files.length).toBe(4);
    for (const path of files) {
      const file = await ask('GET', path, { authorization: '' });
      expect({ path, status: file.status }).toEqual({ path, status: 200 });
      expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    }
    const start = await ask('GET', files.at(-1) as string);
    // By default, Swagger UI sends the document to a validator on the internet.
    expect(start.body).toContain('validatorUrl: null');
    expect((await ask('GET', `${files[0]}x`)).status).toBe(404);
    expect((await ask('GET', `${files[0]}/%2e%2e%2fpackage.json`)).status).toBe(404);
  });

  it('serve every schema alone, with references to the other schemas', async () => {
    const ajv = new Ajv2020({ strict: false });
    formats.default(ajv);
    const names = new Set([
      'HomologyCandidateSet',
      'HomologyRequest',
      'FailureEnvelope',
      'HomologyFailure',
      'Problem',
    ]);
    for (const name of names) {
      const { status, body } = await ask('GET', `/schemas/${name}.json`);
      expect({ name, status }).toEqual({ name, status: 200 });
      ajv.addSchema(JSON.parse(body) as object);
      for (const [, next] of body.matchAll(/"\$ref":"([^"]+)\.json"/g)) names.add(next as string);
    }
    const { body } = await ask('GET', '/schemas/HomologyCandidateSet.json');
    const validate = ajv.getSchema((JSON.parse(body) as { readonly $id: string }).$id);
    const answer = await readResponse(await post(served, '/v1/homology', searchBody()));
    expect(validate?.(JSON.parse(answer.body))).toBe(true);
    expect((await ask('GET', '/schemas/Nothing.json')).status).toBe(404);
  });

  it('count every request by operation and status', async () => {
    const { body } = await ask('GET', '/metrics');
    expect(body).toMatch(
      /gloaming_http_requests_total\{operation="homology.search",method="POST",status="200"\} \d+/,
    );
    expect(body).toContain('gloaming_executions{state="waiting"} 0');
  });

  it('list what is missing while the server is not ready', async () => {
    const unready = await serve({ readiness: () => ({ isReady: false, missing: ['no database is built'] }) });
    const response = await get(unready, '/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ status: 'not_ready', missing: ['no database is built'] });
    await unready.close();
  });
});
