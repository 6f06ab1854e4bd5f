import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/*
 * A browser sends a cookie along with whatever page asks for it. These rules tell requests of our own page from those
 * of others; the cookie's SameSite=Strict says the same once more.
 */

/**
 * Whether a page of this very origin, scheme, host and port, has sent the request.
 * `Sec-Fetch-Site` says so where the page is trusted (TLS or loopback). Elsewhere it is `Origin`, which comes with all
 * that changes something; what only reads may lack both, because other origins do not get to see the answer.
 * @param host by which the browser addressed us
 */
export function isSameOrigin(
  { headers, method }: Pick<IncomingMessage, 'headers' | 'method'>,
  host: string | undefined,
): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  if (headers.origin !== undefined) return hostOf(headers.origin) === host?.toLowerCase();
  return method === 'GET' || method === 'HEAD';
}

function hostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined;
}

/**
 * Whether nobody outside can own the name by which the server is addressed. A page of a name that an attacker owns, and
 * lets point here, would be of our origin; where visitors need no key, such names are not answered.
 * @param publicHost host of the address that the settings give the server
 */
export function isLocalName(host: string | undefined, publicHost: string | undefined): boolean {
  if (host === undefined) return false;
  const name = host.toLowerCase().replace(/:\d+$/, '');
  if (host === publicHost || isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return !name.includes('.') || /\.(local|lan|internal|home\.arpa)$/.test(name);
}
