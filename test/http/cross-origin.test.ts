import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { get, KEY, post, searchBody, sendRaw, serve, type RawResponse, type Served } from '../tools/serve.js';

const NOTEBOOK = 'http://notebooks.lab:8888';
const PORTAL = 'https://portal.lab';

let served: Served;
let closed: Served;
beforeAll(async () => {
  served = await serve({ sharedOrigins: [NOTEBOOK, PORTAL] });
  closed = await serve();
});
afterAll(() => Promise.all([served.close(), closed.close()]));

async function send(
  { port }: Served,
  line: string,
  headers: Readonly<Record<string, string>>,
): Promise<RawResponse> {
  const lines = Object.entries({ Host: 'gloaming.lab', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const [response] = await sendRaw(port, `${line} HTTP/1.1\r\n${lines.join('')}\r\n`);
  return response!;
}

const preflight = (to: Served, path: string, origin: string): Promise<RawResponse> =>
  send(to, `OPTIONS ${path}`, {
    Origin: origin,
    'Access-Control-Request-Method': 'POST',
    'Access-Control-Request-Headers': 'authorization,content-type,idempotency-key',
  });

function sharingOf({ headers }: RawResponse): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

describe('a page of an origin that the settings name', () => {
  it('learns from the preflight which methods and headers it may send', async () => {
    const { status, headers } = await preflight(served, '/v1/homology', NOTEBOOK);
    expect(status).toBe(204);
    expect(headers['access-control-allow-origin']).toBe(NOTEBOOK);
    expect(headers['access-control-allow-methods']).toBe('DELETE, GET, POST, PUT');
    const allowed = headers['access-control-allow-headers']!.toLowerCase().split(', ');
    for (const name of [
      'authorization',
      'content-type',
      'idempotency-key',
      'prefer',
      'last-event-id',
      'range',
    ])
      expect(allowed).toContain(name);
    expect(headers['vary']).toContain('Origin');
  });

  it('reads answers and refusals with all their headers', async () => {
    for (const key of [KEY, 'glm_wrong']) {
      const answer = await send(served, 'GET /v1/runs', { Origin: PORTAL, Authorization: `Bearer ${key}` });
      expect(answer.status).toBe(key === KEY ? 200 : 401);
      expect(answer.headers['access-control-allow-origin']).toBe(PORTAL);
      const exposed = answer.headers['access-control-expose-headers']!.split(', ');
      for (const name of ['X-Request-ID', 'Service-Error-Type', 'Service-Retryable', 'Retry-After', 'ETag'])
        expect(exposed).toContain(name);
    }
    const unroutable = await send(served, 'GET /v1/%zz', { Origin: PORTAL });
    expect([unroutable.status, unroutable.headers['access-control-allow-origin']]).toEqual([400, PORTAL]);
  });

  it('sends no cookie: CORS does not permit it, and the server ignores it', async () => {
    const headers = { Origin: NOTEBOOK, Cookie: 'gloaming-session=x; gloaming-session-8080=x' };
    const answer = await send(served, 'GET /v1/runs', headers);
    expect(answer.status).toBe(401);
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials');
    expect((await preflight(served, '/v1/runs', NOTEBOOK)).headers).not.toHaveProperty(
      'access-control-allow-credentials',
    );
  });

  it('cannot read pages outside the contract', async () => {
    for (const path of [
      '/metrics',
      '/healthz',
      '/docs',
      '/console/api/session',
      '/colabfold/ticket/x',
      '/',
    ]) {
      expect([path, sharingOf(await send(served, `GET ${path}`, { Origin: NOTEBOOK }))]).toEqual([path, []]);
      expect([path, sharingOf(await preflight(served, path, NOTEBOOK))]).toEqual([path, []]);
    }
  });

  it('gets a replayed response with its own origin in the headers, not that of the first page', async () => {
    const headers = (origin: string) => ({ 'Idempotency-Key': 'shared', Origin: origin });
    const first = await post(served, '/v1/homology', searchBody(), headers(NOTEBOOK));
    const again = await post(served, '/v1/homology', searchBody(), headers(PORTAL));
    expect(again.headers.get('Idempotent-Replayed')).toBe('true');
    expect([first, again].map((each) => each.headers.get('Access-Control-Allow-Origin'))).toEqual([
      NOTEBOOK,
      PORTAL,
    ]);
    const alone = await post(served, '/v1/homology', searchBody(), { 'Idempotency-Key': 'shared' });
    expect(alone.headers.get('Access-Control-Allow-Origin')).toBeNull();
  });
});

describe('a page of any other origin', () => {
  it.each([
    'http://notebooks.lab',
    'http://notebooks.lab:8889',
    'https://notebooks.lab:8888',
    'http://notebooks.lab:8888.evil.example',
    'http://evil.notebooks.lab:8888',
    'HTTP://NOTEBOOKS.LAB:8888',
    'http://notebooks.lab:8888/',
    'https://portal.lab:443',
    'null',
    '*',
    '',
  ])('gets no CORS headers: %j', async (origin) => {
    expect(sharingOf(await preflight(served, '/v1/homology', origin))).toEqual([]);
    const answer = await send(served, 'GET /v1/runs', { Origin: origin, Authorization: `Bearer ${KEY}` });
    expect(sharingOf(answer)).toEqual([]);
    // A cache must not serve it the response for a permitted origin.
    expect(answer.headers['vary']).toContain('Origin');
  });
});

it('without the setting no origin gets CORS headers', async () => {
  expect(sharingOf(await preflight(closed, '/v1/homology', NOTEBOOK))).toEqual([]);
  const answer = await get(closed, '/v1/runs', { origin: NOTEBOOK });
  expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
  expect(answer.headers.get('Vary')).toBeNull();
});
