// @module-tag fast

import { describe, expect, it } from 'vitest';
import { isLocalName, isSameOrigin } from '#src/http/console/same-origin.js';

describe('a name that an open console answers to', () => {
  it.each([
    '127.0.0.1:8080',
    '[::1]:8080',
    '10.1.2.3',
    'localhost:8080',
    'lab-server',
    'gloaming.local:80',
    'gloaming.lan',
  ])('is %s: nobody outside can own it', (host) => expect(isLocalName(host, undefined)).toBe(true));

  it.each(['evil.example:8080', '127.0.0.1.evil.example', 'local.evil.example', 'evillan.com', undefined])(
    'is not %s, which an attacker may let point here',
    (host) => expect(isLocalName(host, undefined)).toBe(false),
  );

  it('is the one that the settings give the server', () => {
    expect(isLocalName('search.lab.example', 'search.lab.example')).toBe(true);
    expect(isLocalName('search.lab.example', 'other.lab.example')).toBe(false);
  });
});

describe('a request of our own page', () => {
  const from = (method: string, headers: Readonly<Record<string, string>>): boolean =>
    isSameOrigin({ method, headers }, 'lab:8080');

  it('has our origin, with its port, or none where it only reads', () => {
    expect(from('POST', { origin: 'http://lab:8080' })).toBe(true);
    expect(from('POST', { origin: 'https://LAB:8080' })).toBe(true);
    expect(from('GET', {})).toBe(true);
  });

  it.each(['http://lab', 'http://lab:8081', 'http://lab:8080.evil.example', 'null', 'lab:8080', ''])(
    'does not have the origin %j',
    (origin) => expect(from('POST', { origin })).toBe(false),
  );

  it('is what Sec-Fetch-Site says, whatever Origin says', () => {
    expect(from('POST', { 'sec-fetch-site': 'cross-site', origin: 'http://lab:8080' })).toBe(false);
    expect(from('GET', { 'sec-fetch-site': 'same-site' })).toBe(false);
    expect(from('DELETE', {})).toBe(false);
  });
});
