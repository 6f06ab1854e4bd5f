import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

let small: SmallAppliance;
let key: string;
let origin: string;

beforeAll(async () => {
  small = await startSmallAppliance();
  key = await small.keyOf('lab');
  origin = small.url;
});
afterAll(() => small.close());

type Headers = Readonly<Record<string, string>>;
/** Header that browsers add for a page of the server itself, on loopback or over TLS. */
const OWN: Headers = { 'sec-fetch-site': 'same-origin' };

function send(method: string, path: string, body: unknown, headers: Headers): Promise<Response> {
  return fetch(small.url + path, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function signIn(credentials: unknown, headers: Headers = OWN): Promise<Response> {
  return send('POST', '/console/api/session', credentials, headers);
}

/** The cookie `name=token`, as a browser sends it back. */
function cookieOf(response: Response): string {
  return (response.headers.get('set-cookie') ?? '').split(';')[0] as string;
}

async function operatorCookie(): Promise<string> {
  const link = await small.appliance.console.sessions.newLink('lab');
  return cookieOf(await signIn({ link }));
}

describe('signing in to the console', () => {
  it('ends the oldest session of a key that has too many, and no session of another key', async () => {
    const operator = await operatorCookie();
    const visitor = async (cookie: string): Promise<unknown> => {
      const response = await send('GET', '/console/api/session', undefined, { ...OWN, cookie });
      return ((await response.json()) as { readonly visitor: unknown }).visitor;
    };
    const own = await small.keyOf('busy');
    const cookies: string[] = [];
    for (let count = 0; count < 21; count += 1) cookies.push(cookieOf(await signIn({ key: own })));
    expect(await visitor(cookies[0]!)).toBeNull();
    expect(await visitor(cookies[1]!)).not.toBeNull();
    expect(await visitor(cookies.at(-1)!)).not.toBeNull();
    for (let count = 0; count < 1_000; count += 50)
      await Promise.all(Array.from({ length: 50 }, () => small.appliance.console.sessions.enterByKey(own)));
    expect(
      small.appliance.console.sessions.list().filter(({ organizationId }) => organizationId === 'busy'),
    ).toHaveLength(20);
    expect(await visitor(operator)).not.toBeNull();
  });

  it('gives operator rights to a key of the scope admin, as long as the key is valid', async () => {
    const { keys } = small.appliance;
    const system = async (scope: 'manage' | 'admin'): Promise<number[]> => {
      const { key: own, row } = await keys.create(scope, 'lab', { scope });
      const cookie = cookieOf(await signIn({ key: own }));
      const ask = (): Promise<Response> => send('GET', '/console/api/system', undefined, { ...OWN, cookie });
      const before = (await ask()).status;
      await keys.revoke(row.id);
      return [before, (await ask()).status];
    };
    expect(await system('manage')).toEqual([403, 401]);
    expect(await system('admin')).toEqual([200, 401]);
  });

  it('limits a session to the scope of its key', async () => {
    const { key: own } = await small.appliance.keys.create('reader', 'lab', { scope: 'search' });
    const cookie = cookieOf(await signIn({ key: own }));
    const read = await send('GET', '/v1/runs', undefined, { ...OWN, cookie });
    const submit = await send('POST', '/v1/runs', {}, { ...OWN, cookie });
    expect([read.status, submit.status]).toEqual([200, 403]);
  });

  it('redirects browsers from the bare address, and answers others with a JSON 404', async () => {
    const browser = await send('GET', '/', undefined, {
      accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
    });
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/console/']);
    for (const accept of ['*/*', 'application/json']) {
      const other = await send('GET', '/', undefined, { accept });
      expect([other.status, other.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    }
  });

  it('exchanges a key for a cookie that scripts cannot read and other sites do not send', async () => {
    const response = await signIn({ key });
    expect(response.status).toBe(200);
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(
      /^gloaming-session-\d+=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
    );
    expect(cookie).not.toContain(key);
    const answer = await send('GET', '/v1/runs', undefined, { ...OWN, cookie: cookieOf(response) });
    expect(answer.status).toBe(200);
  });

  it('stores digests of tokens, and no token', async () => {
    const token = cookieOf(await signIn({ key })).split('=')[1] as string;
    expect(JSON.stringify(small.appliance.console.sessions.list())).not.toContain(token);
  });

  it.each([{ key: 'glm_wrong' }, { key: '' }, {}, { link: 'x'.repeat(43) }, { link: '../../etc' }, []])(
    'refuses %j',
    async (credentials) => {
      const response = await signIn(credentials);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(response.status).toBeLessThan(500);
      expect(response.headers.get('set-cookie')).toBeNull();
    },
  );

  it('accepts a link of the command line once', async () => {
    const link = await small.appliance.console.sessions.newLink('lab');
    const both = await Promise.all([signIn({ link }), signIn({ link })]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 401]);
    expect((await signIn({ link })).status).toBe(401);
  });
});

describe('a cookie', () => {
  it.each<[string, Headers]>([
    ['the page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['another port of this host', { 'sec-fetch-site': 'same-site' }],
    ['an address that was typed', { 'sec-fetch-site': 'none' }],
    ['another origin, from a browser without Sec-Fetch-Site', { origin: 'http://evil.example' }],
    ['an opaque origin', { origin: 'null' }],
  ])('does not count for %s', async (_who, headers) => {
    const cookie = cookieOf(await signIn({ key }));
    const read = await send('GET', '/v1/runs', undefined, { ...headers, cookie });
    expect(read.status).toBe(401);
    const body = { query: { kind: 'protein_sequence', sequence: small.sequences[0] } };
    expect((await send('POST', '/v1/homology', body, { ...headers, cookie })).status).toBe(401);
    expect((await signIn({ key }, headers)).status).toBe(403);
    expect((await send('DELETE', '/console/api/session', undefined, { ...headers, cookie })).status).toBe(
      403,
    );
  });

  it('is accepted on plain HTTP with an Origin only, and for reading with no such header', async () => {
    const cookie = cookieOf(await signIn({ key }, { origin }));
    expect((await send('GET', '/v1/runs', undefined, { cookie })).status).toBe(200);
    const body = { query: { kind: 'protein_sequence', sequence: small.sequences[0] } };
    expect((await send('POST', '/v1/homology', body, { cookie })).status).toBe(401);
    expect((await send('POST', '/v1/homology', body, { cookie, origin })).status).toBe(200);
  });

  it('is ignored if the request has an Authorization header', async () => {
    const cookie = cookieOf(await signIn({ key }));
    const headers = { ...OWN, cookie, authorization: 'Bearer glm_wrong' };
    expect((await send('GET', '/v1/runs', undefined, headers)).status).toBe(401);
  });

  it('ends with its session or its key, and is never one that the visitor brought', async () => {
    const first = cookieOf(await signIn({ key }));
    const [name] = first.split('=');
    await send('DELETE', '/console/api/session', undefined, { ...OWN, cookie: first });
    expect((await send('GET', '/v1/runs', undefined, { ...OWN, cookie: first })).status).toBe(401);
    const planted = `${name}=${'A'.repeat(43)}`;
    const response = await send('POST', '/console/api/session', { key }, { ...OWN, cookie: planted });
    expect(cookieOf(response)).not.toBe(planted);
    expect((await send('GET', '/v1/runs', undefined, { ...OWN, cookie: planted })).status).toBe(401);

    const passing = await small.appliance.keys.create('passing', 'lab');
    const second = cookieOf(await signIn({ key: passing.key }));
    expect((await send('GET', '/v1/runs', undefined, { ...OWN, cookie: second })).status).toBe(200);
    await small.appliance.keys.revoke(passing.row.id);
    expect((await send('GET', '/v1/runs', undefined, { ...OWN, cookie: second })).status).toBe(401);
  });
});

describe('the pages of the operator', () => {
  const PAGES = ['system', 'jobs', 'keys', 'sessions'];

  it.each(PAGES)('GET %s is refused to a session by key, and without a session', async (name) => {
    const cookie = cookieOf(await signIn({ key }));
    expect((await send('GET', `/console/api/${name}`, undefined, { ...OWN, cookie })).status).toBe(403);
    expect((await send('GET', `/console/api/${name}`, undefined, OWN)).status).toBe(401);
  });

  it('are open to a session by link: keys are created, shown once and revoked', async () => {
    const cookie = await operatorCookie();
    const ask = async (method: string, name: string, body?: unknown) =>
      send(method, `/console/api/${name}`, body, { ...OWN, cookie });
    const made = (await (await ask('POST', 'keys', { name: 'new', organization: 'lab' })).json()) as {
      readonly key: string;
      readonly id: string;
    };
    const bearer = { authorization: `Bearer ${made.key}` };
    expect((await send('GET', '/v1/runs', undefined, bearer)).status).toBe(200);
    const listed = await (await ask('GET', 'keys')).text();
    expect(listed).toContain(made.id);
    expect(listed).not.toContain(made.key);
    expect(listed).not.toMatch(/[0-9a-f]{64}/);
    await ask('POST', 'keys/revoke', { id: made.id });
    expect((await send('GET', '/v1/runs', undefined, bearer)).status).toBe(401);
    expect((await ask('POST', 'keys', { name: 'x', organization: 'Not A Name' })).status).toBe(422);
    expect((await ask('GET', 'system')).status).toBe(200);
  });
});

describe('an open console', () => {
  let open: SmallAppliance;
  beforeAll(async () => {
    open = await startSmallAppliance({ console: { open: true } });
  });
  afterAll(() => open.close());
  const ask = (method: string, path: string, headers: Headers, body?: unknown): Promise<Response> =>
    fetch(open.url + path, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  it('accepts searches from its own page without a key, and nothing else', async () => {
    const query = { kind: 'protein_sequence', sequence: open.sequences[0] };
    expect((await ask('POST', '/v1/homology', OWN, { query })).status).toBe(200);
    expect((await ask('GET', '/v1/homology/databases', OWN)).status).toBe(200);
    for (const path of ['/v1/runs', '/v1/webhooks/endpoints', '/v1/sql-credentials']) {
      expect([path, (await ask('GET', path, OWN)).status]).toEqual([path, 401]);
    }
    const run = { endpoint: 'homology.search', input: { query } };
    expect((await ask('POST', '/v1/runs', OWN, run)).status).toBe(401);
    expect((await ask('GET', '/console/api/keys', OWN)).status).toBe(403);
    expect((await ask('POST', '/v1/homology', { 'sec-fetch-site': 'cross-site' }, { query })).status).toBe(
      401,
    );
  });
});

describe('the pages of the console', () => {
  it.each([
    '/console/%2e%2e%2fpackage.json',
    '/console/files.json',
    '/console/console.js',
    '/console/..%5cx',
  ])('GET %s returns no file outside the list of the build', async (path) =>
    expect((await send('GET', path, undefined, {})).status).toBe(404),
  );

  it('have a policy that prevents every injected script', async () => {
    const response = await send('GET', '/console/', undefined, {});
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).not.toMatch(/<script(?![^>]* src=)/);
  });

  it('return the closest residues: of a protein with itself, each residue', async () => {
    const cookie = cookieOf(await signIn({ key }));
    const [release] = small.appliance.catalog.releases('demo', 'lab');
    const sequence = small.sequences[7] as string;
    const body = {
      database_release_id: release!.id,
      target_id: await idOf(sequence, cookie),
      sequence: sequence,
    };
    const response = await send('POST', '/console/api/closest', body, { ...OWN, cookie });
    const { query_to_target: there, query_length: length } = (await response.json()) as {
      readonly query_length: number;
      readonly query_to_target: { readonly closest: number[]; readonly cosine: number[] };
    };
    expect(length).toBe(sequence.length);
    const own = there.closest.filter((other, residue) => other === residue).length;
    expect(own / length).toBeGreaterThan(0.9);
    expect(Math.min(...there.cosine)).toBeGreaterThan(0.98);
    const unknown = await send(
      'POST',
      '/console/api/closest',
      { ...body, target_id: 'absent' },
      { ...OWN, cookie },
    );
    expect(unknown.status).toBe(422);
  });
});

async function idOf(sequence: string, cookie: string): Promise<string> {
  const body = { query: { kind: 'protein_sequence', sequence }, limit: 1 };
  const response = await send('POST', '/v1/homology', body, { ...OWN, cookie });
  const { candidates } = (await response.json()) as {
    readonly candidates: readonly { readonly target: { readonly id: string } }[];
  };
  return candidates[0]!.target.id;
}
