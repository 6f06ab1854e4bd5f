import { createHmac } from 'node:crypto';
import { realWorld } from '../../world.js';

const SECRET_PREFIX = 'whsec_';
const SECRET_BYTES = 32;

export function newWebhookSecret(world = realWorld): string {
  return SECRET_PREFIX + world.randomBytes(SECRET_BYTES).toString('base64');
}

/**
 * Headers that authenticate sender and time of a message, with one signature for each valid secret.
 * Source  Standard Webhooks 1.0, symmetric signatures
 */
export function signatureHeaders(
  messageId: string,
  at: Date,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
