// @module-tag fast

import { describe, expect, it } from 'vitest';
import { SignedUrls } from '#src/services/storage/signed-urls.js';

const NOW_MS = Date.UTC(2026, 0, 1);
const urlsAt = (ms: number, key = 1) => new SignedUrls(Buffer.alloc(32, key), () => new Date(ms));
const path = '/v1/storage/files/fil_1/a%20b.txt';
const signed = urlsAt(NOW_MS).sign({
  method: 'GET',
  path,
  version: 'ver_1',
  expiresAt: new Date(NOW_MS + 60_000),
});
const query = Object.fromEntries(new URL(signed, 'http://localhost').searchParams);
const request = { method: 'GET', path, query };
const invalid = expect.objectContaining({ code: 'signature_invalid' }) as Error;

describe('a signed URL', () => {
  it('is valid for its method and path until it expires, and contains the version of the file', () => {
    expect(urlsAt(NOW_MS).verify(request)).toBe('ver_1');
    expect(urlsAt(NOW_MS).verify({ ...request, method: 'HEAD' })).toBe('ver_1');
    expect(urlsAt(NOW_MS + 59_999).verify(request)).toBe('ver_1');
    const expired = expect.objectContaining({ code: 'url_expired' }) as Error;
    expect(() => urlsAt(NOW_MS + 60_000).verify(request)).toThrow(expired);
  });

  it.each([
    ['another method', { ...request, method: 'PUT' }],
    ['another path', { ...request, path: path.replace('fil_1', 'fil_2') }],
    ['another version', { ...request, query: { ...query, version: 'ver_2' } }],
    ['a later end', { ...request, query: { ...query, expires: String(Number(query.expires) + 1) } }],
    ['an endless end', { ...request, query: { ...query, expires: '1e999' } }],
    ['the end in another notation', { ...request, query: { ...query, expires: `0${query.expires}` } }],
    ['no end', { ...request, query: { ...query, expires: undefined } }],
    ['no signature', { ...request, query: { ...query, signature: undefined } }],
    ['a shorter signature', { ...request, query: { ...query, signature: query.signature.slice(0, 40) } }],
    ['a longer signature', { ...request, query: { ...query, signature: `${query.signature}=` } }],
  ])('is not good for %s', (_, changed) => {
    expect(() => urlsAt(NOW_MS).verify(changed)).toThrow(invalid);
  });

  it('of another server is invalid here', () => {
    expect(() => urlsAt(NOW_MS, 2).verify(request)).toThrow(invalid);
  });
});
