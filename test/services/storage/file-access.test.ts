import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askFiles, code } from './files-asked.js';
import { bytesOf, serveStorage, type Json, type StorageBench, type Who } from './storage-served.js';

/* Access to stored files: signed URLs and access policies, with two organizations. */

const content = bytesOf(21, 10_000);

let bench: StorageBench;
let file: Json;
beforeAll(async () => {
  bench = await serveStorage();
  file = await bench.upload('lab', 'shared/data.bin', content);
});
afterAll(() => bench.end());

const { read, sign, setAcl, getAcl, remove } = askFiles(() => bench);

describe('a signed URL', () => {
  it('serves GET, HEAD and ranges without credentials, by default for an hour', async () => {
    const { status, body } = await sign('lab', file.url);
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ object: 'file_signed_url', scope: ['read'] });
    const lifetime = Date.parse(body.data.expires_at) - Date.parse(body.data.created_at);
    expect(Math.round(lifetime / 1000 / 10)).toBe(360);
    const ranged = await read(body.data.url, { Range: 'bytes=3-5' });
    expect([ranged.status, ranged.bytes.equals(content.subarray(3, 6))]).toEqual([206, true]);
    expect((await read(body.data.url, {}, undefined, 'HEAD')).status).toBe(200);
    // A key without read access changes nothing.
    expect((await read(body.data.url, {}, 'rival', 'HEAD')).status).toBe(200);
  });

  it('ends at its time', async () => {
    const { url } = (await sign('lab', file.url, { expiration_seconds: 1 })).body.data;
    await pause(2_050);
    const answer = await read(url);
    expect([answer.status, code(answer)]).toEqual([410, 'url_expired']);
  });

  it('is invalid after any change, even with a valid key beside it', async () => {
    const other = await bench.upload('lab', 'unsigned.txt', Buffer.from('secret'));
    const { url } = (await sign('lab', file.url)).body.data;
    const otherPath = new URL(other.url).pathname;
    for (const forged of [
      url.replace(/expires=\d+/, 'expires=4102444800'),
      url.replace(/version=ver_[0-9a-f]+/, `version=${other.storage_version}`),
      url.replace(/signature=.{6}/, 'signature=AAAAAA'),
      url.replace(new URL(url).pathname, otherPath),
      `${bench.url}${otherPath}?signature=`,
    ]) {
      const answer = await read(forged, {}, 'lab');
      expect({ forged, answer: [answer.status, code(answer)] }).toEqual({
        forged,
        answer: [403, 'signature_invalid'],
      });
    }
    expect(code(await read(`${url}&signature=x`))).toBe('validation_failed');
    const written = await fetch(url, { method: 'DELETE' });
    expect(written.status).toBe(405);
  });

  it.each([0, 604_801, 1.5, '60'])('of %s seconds is refused', async (seconds) => {
    expect(code(await sign('lab', file.url, { expiration_seconds: seconds }))).toBe('validation_failed');
  });

  it('is made by the own organization only', async () => {
    const answer = await sign('rival', file.url);
    expect([answer.status, code(answer)]).toEqual([403, 'permission_denied']);
  });
});

describe('an access policy', () => {
  it('allows the own organization and forbids all others, until it is set', async () => {
    expect((await getAcl('colleague', file.url)).body.data).toEqual({
      default: 'forbid',
      rules: [{ principal: 'lab', decision: 'allow' }],
    });
    expect(code(await getAcl('rival', file.url))).toBe('permission_denied');
    expect(code(await setAcl('rival', file.url, { default: 'allow', rules: [] }))).toBe('permission_denied');
  });

  it('allows, forbids with 403 and hides with 404, the key before its organization before the default', async () => {
    const { url } = await bench.upload('lab', 'acl.txt', Buffer.from('acl'));
    const rule = (principal: string, decision: string) => ({ principal, decision });
    const { colleague, rival } = bench.keyIds;
    const cases: readonly (readonly [Json, Who, number])[] = [
      [{ default: 'allow', rules: [] }, 'rival', 200],
      [{ default: 'hide', rules: [rule('lab', 'allow')] }, 'rival', 404],
      [{ default: 'hide', rules: [rule('rivals', 'allow')] }, 'rival', 200],
      [{ default: 'hide', rules: [rule('rivals', 'allow')] }, 'lab', 404],
      [{ default: 'allow', rules: [rule('rivals', 'forbid')] }, 'rival', 403],
      [{ default: 'forbid', rules: [rule('rivals', 'hide'), rule(rival, 'allow')] }, 'rival', 200],
      [{ default: 'allow', rules: [rule(colleague, 'hide')] }, 'colleague', 404],
      [{ default: 'allow', rules: [rule(colleague, 'hide')] }, 'lab', 200],
    ];
    for (const [acl, who, status] of cases) {
      expect((await setAcl('lab', url, acl)).body.data).toEqual(acl);
      expect({ acl, who, status: (await read(url, {}, who, 'HEAD')).status }).toEqual({ acl, who, status });
    }
    // A file that is hidden from a key counts as absent for it: the key cannot manage, sign or delete it.
    expect(code(await getAcl('colleague', url))).toBe('file_not_found');
    expect(code(await sign('colleague', url))).toBe('file_not_found');
    expect(code(await remove('colleague', 'acl.txt'))).toBe('file_not_found');
    await setAcl('lab', url, { default: 'allow', rules: [rule(colleague, 'forbid')] });
    expect(code(await remove('colleague', 'acl.txt'))).toBe('permission_denied');
    // Read access does not include management.
    expect(code(await setAcl('rival', url, { default: 'allow', rules: [] }))).toBe('permission_denied');
  });

  it.each([
    { default: 'maybe', rules: [] },
    { default: 'allow' },
    { default: 'allow', rules: [{ principal: 'No Such', decision: 'allow' }] },
    { default: 'allow', rules: Array(257).fill({ principal: 'x', decision: 'allow' }) },
  ])('that is not one is refused', async (acl) => {
    expect(code(await setAcl('lab', file.url, acl))).toBe('validation_failed');
  });

  it('refuses a URL of another server without fetching it', async () => {
    let fetched = 0;
    const elsewhere = createServer((_request, response) => {
      fetched += 1;
      response.end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const { pathname } = new URL(file.url);
    for (const url of [
      `${origin}${pathname}`,
      'https://example.org/a.txt',
      'file:///etc/passwd',
      'not a URL',
      `//example.org${pathname}`,
      `${file.url}?version=1`,
      `${bench.url.replace('//', '//user@')}${pathname}`,
      `${bench.url}/v1/storage/files/acl`,
    ]) {
      for (const answer of [await getAcl('lab', url), await sign('lab', url)]) {
        expect({ url, answer: [answer.status, code(answer)] }).toEqual({
          url,
          answer: [422, 'file_not_managed'],
        });
      }
    }
    expect((await getAcl('lab', pathname)).status).toBe(200);
    expect(fetched).toBe(0);
    elsewhere.close();
  });
});
