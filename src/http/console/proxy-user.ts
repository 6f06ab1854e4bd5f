import type { IncomingMessage } from 'node:http';
import type { Visitor } from '../../services/console/sessions.js';
import { senderOf } from '../forwarded.js';
import type { Shell } from '../shell.js';

/** Two headers of that name are joined by a comma and a blank, and so are nobody's name. */
const USER_NAME = /^[!-~]{1,128}$/;

/**
 * Whom a trusted proxy has signed in, by the header of the settings: nobody without such a setting, from any other
 * address, and where the header is no name.
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
