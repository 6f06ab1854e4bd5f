import type { Visitor } from '../../services/console/sessions.js';
import type { Shell, ShellContext } from '../shell.js';
import { senderOf } from '../forwarded.js';
import { proxyUser } from './proxy-user.js';
import { isLocalName, isSameOrigin } from './same-origin.js';

/**
 * Name of the session cookie. Cookies ignore ports, so the name contains the port: two servers on one machine stay
 * apart. The `__Host-` prefix over TLS makes browsers refuse a cookie of that name from another host of the domain or
 * from a page without TLS. Below a path, where other servers share the host, the `__Secure-` prefix refuses pages
 * without TLS.
 */
function cookieName(shell: Shell): string {
  const { port } = new URL(shell.baseUrl());
  const name = `gloaming-session${port === '' ? '' : `-${port}`}`;
  if (shell.tls === undefined) return name;
  return shell.basePath === '' ? `__Host-${name}` : `__Secure-${name}`;
}

/** Returns the signed-in visitor of the request. Undefined without a session, or for the page of another site. */
export function visitorOf(shell: Shell, { req }: Pick<ShellContext, 'req'>): Visitor | undefined {
  const { sessions } = shell.console ?? {};
  const { host } = senderOf(req, shell);
  if (sessions === undefined || !isSameOrigin(req, host)) return undefined;
  // Neither an open visitor nor a proxy's user needs a cookie, which a browser keeps from pages of other host names.
  const isOwn = isLocalName(host, new URL(shell.baseUrl()).host);
  const user = isOwn ? proxyUser(shell, req) : undefined;
  const visitor = user ?? sessions.find(sessionToken(shell, req.headers.cookie));
  if (visitor?.isOpen && !isOwn) return undefined;
  return visitor;
}

function sessionToken(shell: Shell, cookies: string | undefined): string | undefined {
  const start = `${cookieName(shell)}=`;
  return cookies
    ?.split(';')
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(start))
    ?.slice(start.length);
}

/** Sets the session cookie: scripts cannot read it, and browsers send it with requests of the console's pages only. */
export function setSessionCookie(
  shell: Shell,
  context: ShellContext,
  token: string,
  lifetimeMs: number,
): void {
  const attributes = [
    `Path=${shell.basePath}/`,
    `Max-Age=${Math.floor(lifetimeMs / 1000)}`,
    'HttpOnly',
    'SameSite=Strict',
  ];
  const isTls = shell.tls !== undefined || senderOf(context.req, shell).isTls;
  if (isTls || shell.baseUrl().startsWith('https:')) attributes.push('Secure');
  context.set('Set-Cookie', [`${cookieName(shell)}=${token}`, ...attributes].join('; '));
}
