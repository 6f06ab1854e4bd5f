import type { Visitor } from '../../services/console/sessions.js';
import type { Shell, ShellContext } from '../shell.js';
import { senderOf } from '../forwarded.js';
import { proxyUser } from './proxy-user.js';
import { isLocalName, isSameOrigin } from './same-origin.js';

/**
 * Cookies know no ports: two servers of one machine must not take each other's. Over TLS the prefix has browsers refuse
 * a cookie of that name that another host of the domain, or a page without TLS, would plant; below a path, where other
 * servers share the host, a page without TLS.
 */
function cookieName(shell: Shell): string {
  const { port } = new URL(shell.baseUrl());
  const name = `gloaming-session${port === '' ? '' : `-${port}`}`;
  if (shell.tls === undefined) return name;
  return shell.basePath === '' ? `__Host-${name}` : `__Secure-${name}`;
}

/** Whose browser has sent the request; undefined where nobody has signed in, or another site's page asks. */
export function visitorOf(shell: Shell, { req }: Pick<ShellContext, 'req'>): Visitor | undefined {
  const { sessions } = shell.console ?? {};
  const { host } = senderOf(req, shell);
  if (sessions === undefined || !isSameOrigin(req, host)) return undefined;
  const visitor = proxyUser(shell, req) ?? sessions.find(sessionToken(shell, req.headers.cookie));
  if (visitor?.isOpen && !isLocalName(host, new URL(shell.baseUrl()).host)) return undefined;
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

/** Out of reach of scripts, and sent along with requests of our own pages only. */
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
