import { linkAborts } from '../../abort.js';
import type { Middleware, Shell } from '../shell.js';

const SHORTEST_SECONDS = 0.1;

/** Why work ended that nobody waits for any more. */
export class ClientClosed extends Error {
  override readonly name = 'ClientClosed';
}

/** Reads the start deadline, and makes the signal that ends work when the client has gone or the server stops. */
export function boundTime(shell: Shell): Middleware {
  return async (context, next) => {
    const { state, res } = context;
    const ending = linkAborts(shell.stopping);
    // Also for an answer that streams: it closes when its last byte is out, or when the client has gone.
    res.once('close', () => {
      ending.release();
      if (!res.writableFinished) ending.abort(new ClientClosed('The client closed the connection.'));
    });
    state.signal = ending.signal;
    state.startDeadlineMs = readDeadline(context.get('Service-Request-Timeout'), state.receivedAtMs);
    await next();
  };
}

/** What is no deadline by its schema, validation refuses later. */
function readDeadline(text: string, receivedAtMs: number): number | undefined {
  const isDecimal = /^\d{1,9}(\.\d{1,16})?$/.test(text);
  return isDecimal && Number(text) > SHORTEST_SECONDS ? receivedAtMs + Number(text) * 1000 : undefined;
}
