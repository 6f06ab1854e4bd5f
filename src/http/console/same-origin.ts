import { isIP } from 'node:net';
import type { IncomingMessage } from 'node:http';

/*
 * A browser sends the cookie with the requests of any page. These rules separate requests of the console's own page
 * from requests of other pages. SameSite=Strict of the cookie is a second defence.
 */

/**
 * Returns whether a page of the same origin (scheme, host and port) sent the request.
 * `Sec-Fetch-Site` states it for trustworthy pages (TLS or loopback). Otherwise `Origin` states it, which browsers add
 * to every request that changes something. Requests that only read may lack both, because other origins cannot read the
 * response.
 * @param host by which the browser addressed the server
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
 * Returns whether no attacker can own the host name of the request. A page of an attacker's name that resolves to this
 * server would have the same origin. Such names are refused where a request needs neither key nor cookie: for open
 * visitors and for users whom a proxy has signed in.
 * @param publicHost host of the configured public address
 */
export function isLocalName(host: string | undefined, publicHost: string | undefined): boolean {
  if (host === undefined) return false;
  const name = host.toLowerCase().replace(/:\d+$/, '');
  if (host.toLowerCase() === publicHost || isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
  return !name.includes('.') || /\.(local|lan|internal|home\.arpa)$/.test(name);
}
