import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trustedProxiesOf } from '#src/cli/serve/proxies.js';
import { senderOf } from '#src/http/forwarded.js';
import { withoutBase } from '#src/http/target.js';
import { ask, BASE, CADDY, isInstalled, NGINX, startProxy } from './proxy-examples.js';
import { KEY, searchBody, serve, type Served } from '../tools/serve.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-proxies-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['nginx', NGINX],
  ['caddy', CADDY],
])('behind %s (a package of Debian)', (tool, proxy) => {
  const isThere = isInstalled(tool) && isInstalled('openssl');
  let served: Served;
  let process: ChildProcess;
  let url = '';

  beforeAll(async () => {
    if (!isThere) return;
    const trustedProxies = trustedProxiesOf(['127.0.0.1']);
    served = await serve({ baseUrl: () => url, basePath: BASE, trustedProxies });
    ({ url, process } = await startProxy(proxy, served.port, folder));
  });
  afterAll(async () => {
    process?.kill();
    await served?.close();
  });

  it.skipIf(!isThere)('answers below its path, with links within it', async () => {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const body = searchBody();
    const { status, headers: answerHeaders } = await ask(`${url}/v1/homology`, {
      method: 'POST',
      headers,
      body,
    });
    expect(status).toBe(200);
    expect(answerHeaders.link).toContain(`<${url}/schemas/`);
    const refused = await ask(`${url}/v1/homology`, { method: 'POST', headers, body: '{}' });
    expect(JSON.parse(refused.body).error.doc_url).toMatch(new RegExp(`^${url}/docs/errors#`));
    const document = await ask(`${url}/openapi.json`);
    expect(JSON.parse(document.body).servers).toEqual([{ url }]);
  });

  it.skipIf(!isThere)('redirects the bare path to itself, and relative links to files below it', async () => {
    const bare = await ask(url);
    expect(bare.status).toBeGreaterThanOrEqual(301);
    expect(new URL(String(bare.headers.location), url).pathname).toBe(`${BASE}/`);
    const docs = await ask(`${url}/docs/api`);
    const [, script] = /<script src="([^"]+)"/.exec(docs.body)!;
    expect((await ask(new URL(script!, `${url}/docs/api`).href)).status).toBe(200);
    const manual = await ask(`${url}/docs`);
    expect(new URL(String(manual.headers.location), url).pathname).toBe(`${BASE}/docs/`);
    const [, style] = /<link rel="stylesheet" href="([^"]+)"/.exec((await ask(`${url}/docs/`)).body)!;
    expect((await ask(new URL(style!, `${url}/docs/`).href)).status).toBe(200);
  });

  it.skipIf(!isThere)('limits the size of a body with a specific error', async () => {
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const body = searchBody({ query: { kind: 'protein_sequence', sequence: 'A'.repeat(3_000_000) } });
    const { status, body: answer } = await ask(`${url}/v1/homology`, { method: 'POST', headers, body });
    expect([status, JSON.parse(answer).error.code]).toEqual([413, 'body_too_large']);
  });
});

describe('the address of a sender', () => {
  const trustedProxies = trustedProxiesOf(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);
  const from = (remoteAddress: string, headers: Record<string, string>) =>
    senderOf(
      { socket: { remoteAddress } as never, headers: { host: 'here:8080', ...headers } },
      { trustedProxies },
    );
  const forwarded = {
    'x-forwarded-for': '1.1.1.1, 192.0.2.7, 10.0.0.3',
    'x-forwarded-host': 'lab.example.org',
    'x-forwarded-proto': 'https',
  };

  it('is the last address that is not a trusted proxy', () => {
    expect(from('127.0.0.1', forwarded)).toEqual({
      address: '192.0.2.7',
      host: 'lab.example.org',
      isTls: true,
      isProxied: true,
    });
    expect(from('::ffff:10.1.2.3', forwarded).address).toBe('192.0.2.7');
    expect(from('fd00::1', { 'x-forwarded-for': '2001:db8::9' }).address).toBe('2001:db8::9');
  });

  it.each(['is not read from %j', '11.0.0.1', '::1', '2001:db8::1', ''])(
    'is not believed from %j',
    (address) => {
      expect(from(address, forwarded)).toEqual({
        address,
        host: 'here:8080',
        isTls: false,
        isProxied: false,
      });
    },
  );

  it('is that of the proxy if the header holds no address', () => {
    expect(from('127.0.0.1', { 'x-forwarded-for': '192.0.2.7, unknown' }).address).toBe('127.0.0.1');
    expect(from('127.0.0.1', {}).address).toBe('127.0.0.1');
    expect(from('127.0.0.1', { 'x-forwarded-for': '10.0.0.1, 10.0.0.2' }).address).toBe('10.0.0.1');
  });

  it('needs valid networks', () => {
    for (const text of ['10.0.0.0/33', '300.1.1.1', 'a:b'])
      expect(() => trustedProxiesOf([text])).toThrow(text);
  });
});

describe('the path of the public address', () => {
  it('is removed where a proxy passes it on, as a whole', () => {
    const paths = [
      '/gloaming/v1/runs?x=1',
      '/gloaming',
      '/gloaming?x',
      '/gloamingX/v1',
      '/v1/runs',
      '/gloaming/gloaming/',
    ];
    expect(paths.map((path) => withoutBase(path, BASE))).toEqual([
      '/v1/runs?x=1',
      '/',
      '?x',
      '/gloamingX/v1',
      '/v1/runs',
      '/gloaming/',
    ]);
    expect(withoutBase('/v1', '')).toBe('/v1');
  });
});
