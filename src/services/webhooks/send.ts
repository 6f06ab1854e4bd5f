import { request as requestHttp, type IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { WEBHOOK_ANSWER_MAX_BYTES } from '../../limits.js';
import type { PinnedAddress } from './address.js';

interface WebhookMessage {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Posts one message to the pinned address and returns the response's status. Redirects are not followed.
 * Errors  those of the connection; the signal's reason
 */
export function sendWebhook(
  message: WebhookMessage,
  to: PinnedAddress,
  signal: AbortSignal,
): Promise<number> {
  const { url, headers, body } = message;
  const request = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise<number>((resolve, reject) => {
    const posting = request(url, {
      method: 'POST',
      headers: {
        ...headers,
        'Content-Type': 'application/json',
        'Content-Length': String(Buffer.byteLength(body)),
        'User-Agent': 'gloaming-webhooks',
      },
      signal,
      // A new connection, because a reused one may go to an address that was not checked.
      agent: false,
      // Returns the address that was checked, instead of resolving the name again.
      lookup: (_hostname, options, callback) => {
        const { address, family } = to;
        if (options.all === true) callback(null, [{ address, family }]);
        else callback(null, address, family);
      },
    });
    posting.on('response', (answer) => readStatus(answer, resolve, reject));
    // An unrequested protocol upgrade counts as a response. Without this listener the promise would not settle.
    posting.on('upgrade', ({ statusCode = 0 }, socket) => {
      socket.destroy();
      resolve(statusCode);
    });
    posting.on('error', reject);
    posting.end(body);
  });
}

/** Reads the status once the response is complete, or longer than any useful one. */
function readStatus(
  answer: IncomingMessage,
  resolve: (status: number) => void,
  reject: (error: Error) => void,
): void {
  let bytes = 0;
  const end = (): void => {
    answer.destroy();
    resolve(answer.statusCode ?? 0);
  };
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > WEBHOOK_ANSWER_MAX_BYTES) end();
  });
  answer.on('end', end);
  answer.on('error', reject);
}
