import type { IncomingMessage } from 'node:http';
import type { Visitor } from '../../services/console/sessions.js';
import { senderOf } from '../forwarded.js';
import type { Shell } from '../shell.js';

/** A repeated header arrives joined by a comma and a blank, which no user name matches. */
const USER_NAME = /^[!-~]{1,128}$/;

/**
 * The user whom a trusted proxy has signed in, from the configured header. Undefined without such a setting, from
 * another address, or when the header is not a user name.
 */
export function proxyUser(
  shell: Pick<Shell, 'userHeader' | 'trustedProxies'>,
  request: Pick<IncomingMessage, 'socket' | 'headers'>,
): Visitor | undefined {
  const { userHeader } = shell;
  if (userHeader === undefined || !senderOf(request, shell).isProxied) return undefined;
  const name = request.headers[userHeader.name];
  if (typeof name !== 'string' || !USER_NAME.test(name)) return undefined;
  const { organizationId, scope, operators } = userHeader;
  const isOperator = operators.includes(name);
  return { name, organizationId, keyId: `user ${name}`, scope, isOperator, isOpen: false };
}
