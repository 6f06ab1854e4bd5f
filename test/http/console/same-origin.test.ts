// @module-tag fast

import { describe, expect, it } from 'vitest';
import { isLocalName, isSameOrigin } from '#src/http/console/same-origin.js';

describe('a host name of an open console', () => {
  it.each([
    '127.0.0.1:8080',
    '[::1]:8080',
    '10.1.2.3',
    'localhost:8080',
    'lab-server',
    'gloaming.local:80',
    'gloaming.lan',
  ])('is %s: a name that no other site can own', (host) => expect(isLocalName(host, undefined)).toBe(true));

  it.each(['evil.example:8080', '127.0.0.1.evil.example', 'local.evil.example', 'evillan.com', undefined])(
    'is not %s, because an attacker may point the name here',
    (host) => expect(isLocalName(host, undefined)).toBe(false),
  );

  it("may be the one in the server's settings", () => {
    expect(isLocalName('search.lab.example', 'search.lab.example')).toBe(true);
    expect(isLocalName('search.lab.example', 'other.lab.example')).toBe(false);
  });
});

describe("a request of the console's own page", () => {
  const from = (method: string, headers: Readonly<Record<string, string>>): boolean =>
    isSameOrigin({ method, headers }, 'lab:8080');

  it('has the origin of the server with its port, or none if it only reads', () => {
    expect(from('POST', { origin: 'http://lab:8080' })).toBe(true);
    expect(from('POST', { origin: 'https://LAB:8080' })).toBe(true);
    expect(from('GET', {})).toBe(true);
  });

  it.each(['http://lab', 'http://lab:8081', 'http://lab:8080.evil.example', 'null', 'lab:8080', ''])(
    'does not have the origin %j',
    (origin) => expect(from('POST', { origin })).toBe(false),
  );

  it('is recognized by Sec-Fetch-Site, whatever Origin is', () => {
    expect(from('POST', { 'sec-fetch-site': 'cross-site', origin: 'http://lab:8080' })).toBe(false);
    expect(from('GET', { 'sec-fetch-site': 'same-site' })).toBe(false);
    expect(from('DELETE', {})).toBe(false);
  });
});
