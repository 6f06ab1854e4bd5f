import { linkAborts } from '../../abort.js';
import type { Middleware, Shell } from '../shell.js';

const SHORTEST_SECONDS = 0.1;

/** The abort reason of work whose client has disconnected. */
export class ClientClosed extends Error {
  override readonly name = 'ClientClosed';
}

/** Reads the start deadline, and creates the signal that aborts when the client disconnects or the server stops. */
export function boundTime(shell: Shell): Middleware {
  return async (context, next) => {
    const { state, res } = context;
    const ending = linkAborts(shell.stopping);
    // `close` also covers streams: it comes after the last byte, or when the client disconnects.
    res.once('close', () => {
      ending.release();
      if (!res.writableFinished) ending.abort(new ClientClosed('The client closed the connection.'));
    });
    state.signal = ending.signal;
    state.startDeadlineMs = readDeadline(context.get('Service-Request-Timeout'), state.receivedAtMs);
    await next();
  };
}

/** Returns undefined for text that is no deadline. Validation refuses it later. */
function readDeadline(text: string, receivedAtMs: number): number | undefined {
  const isDecimal = /^\d{1,9}(\.\d{1,16})?$/.test(text);
  return isDecimal && Number(text) > SHORTEST_SECONDS ? receivedAtMs + Number(text) * 1000 : undefined;
}
