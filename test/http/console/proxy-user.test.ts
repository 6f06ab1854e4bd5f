import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { trustedProxiesOf } from '#src/cli/serve/proxies.js';
import { loadConfig } from '#src/config.js';
import { proxyUser } from '#src/http/console/proxy-user.js';
import { startSmallAppliance, type SmallAppliance } from '../../tools/small-appliance.js';

/* Users whom a proxy on loopback has authenticated, and other senders of the same header. */

const OWN = { 'sec-fetch-site': 'same-origin' };
let small: SmallAppliance;
beforeAll(async () => {
  small = await startSmallAppliance({
    trusted_proxies: ['127.0.0.1'],
    user_header: { name: 'X-Forwarded-User', organization: 'lab', scope: 'search', operators: ['ada'] },
  });
});
afterAll(() => small.close());

const get = (path: string, headers: Readonly<Record<string, string>>): Promise<Response> =>
  fetch(small.url + path, { headers });

/** Sends any Host, which fetch does not. */
function post(path: string, body: string, headers: Readonly<Record<string, string>>): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(small.url + path, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('a user name from a trusted proxy', () => {
  it('signs in to the console, with the scope of the settings', async () => {
    const headers = { ...OWN, 'x-forwarded-user': 'grace' };
    const { visitor } = (await (await get('/console/api/session', headers)).json()) as { visitor: unknown };
    expect(visitor).toEqual({ name: 'grace', organization: 'lab', is_operator: false, is_open: false });
    expect((await get('/v1/runs', headers)).status).toBe(200);
    expect((await get('/v1/webhooks/endpoints', headers)).status).toBe(403);
    expect((await get('/console/api/system', headers)).status).toBe(403);
  });

  it('signs in as the operator if the settings say so', async () => {
    expect((await get('/console/api/system', { ...OWN, 'x-forwarded-user': 'ada' })).status).toBe(200);
  });

  it('counts for nothing on a request from another site', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'x-forwarded-user': 'ada' };
    expect((await get('/console/api/system', headers)).status).toBe(401);
    expect((await get('/v1/runs', headers)).status).toBe(401);
  });

  it('counts for nothing under a host name that an attacker may point to this server', async () => {
    const evil = {
      origin: 'http://evil.example',
      'x-forwarded-user': 'ada',
      'content-type': 'application/json',
    };
    const key = JSON.stringify({ name: 'k', organization: 'lab', scope: 'admin' });
    const endpoint = JSON.stringify({ url: 'http://127.0.0.1:1/', events: ['run.completed'] });
    for (const host of [{ host: 'evil.example' }, { 'x-forwarded-host': 'evil.example' }] as Record<
      string,
      string
    >[]) {
      expect(await post('/console/api/keys', key, { ...evil, ...host })).toBe(401);
      expect(await post('/v1/webhooks/endpoints', endpoint, { ...evil, ...host })).toBe(401);
      const own = { ...evil, ...host, ...OWN };
      expect(await post('/console/api/keys', key, own)).toBe(401);
    }
    const local = { ...evil, host: 'lab-server:8080', origin: 'http://lab-server:8080' };
    expect(await post('/console/api/keys', key, local)).toBe(200);
  });

  it('counts for nothing from another address, in another header, or if invalid', () => {
    const userHeader = { name: 'x-user', organizationId: 'lab', scope: 'submit' as const, operators: [] };
    const shell = { userHeader, trustedProxies: trustedProxiesOf(['10.0.0.0/8']) };
    const from = (remoteAddress: string, headers: Record<string, string>) =>
      proxyUser(shell, { socket: { remoteAddress } as never, headers })?.name;
    expect(from('10.0.0.1', { 'x-user': 'ada' })).toBe('ada');
    expect(from('192.0.2.1', { 'x-user': 'ada', 'x-forwarded-for': '10.0.0.1' })).toBeUndefined();
    expect(from('10.0.0.1', { 'x-other': 'ada' })).toBeUndefined();
    for (const name of ['', 'ada, eve', 'a\u0000', 'a'.repeat(129)]) {
      expect(from('10.0.0.1', { 'x-user': name })).toBeUndefined();
    }
    expect(
      proxyUser({ ...shell, userHeader: undefined }, { socket: {} as never, headers: {} }),
    ).toBeUndefined();
  });

  it('needs a trusted proxy', () => {
    const folder = mkdtempSync(join(tmpdir(), 'gloaming-user-header-'));
    const path = join(folder, 'settings.json');
    writeFileSync(path, JSON.stringify({ user_header: { name: 'X-User' } }));
    expect(() => loadConfig({ GLOAMING_CONFIG: path })).toThrow('user_header needs trusted_proxies');
    rmSync(folder, { recursive: true });
  });
});
