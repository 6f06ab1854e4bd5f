import type { Middleware, Shell } from './shell.js';

const SHORTEST_SECONDS = 0.1;

/** Why work ended that nobody waits for any more. */
export class ClientClosed extends Error {
  override readonly name = 'ClientClosed';
}

/** Reads the start deadline, and makes the signal that ends work when the client has gone or the server stops. */
export function boundTime(shell: Shell): Middleware {
  return async (context, next) => {
    const { state, res } = context;
    const gone = new AbortController();
    const onClose = (): void => {
      if (!res.writableFinished) gone.abort(new ClientClosed('The client closed the connection.'));
    };
    res.once('close', onClose);
    state.signal = AbortSignal.any([gone.signal, shell.stopping]);
    state.startDeadlineMs = readDeadline(context.get('Service-Request-Timeout'), state.receivedAtMs);
    try {
      await next();
    } finally {
      // What still runs after the answer is not ours to end; the response's own close says nothing any more.
      // A stream is still being answered.
      if (typeof context.body === 'string') res.off('close', onClose);
    }
  };
}

/** What is no deadline by its schema, validation refuses later. */
function readDeadline(text: string, receivedAtMs: number): number | undefined {
  const isDecimal = /^\d{1,9}(\.\d{1,16})?$/.test(text);
  return isDecimal && Number(text) > SHORTEST_SECONDS ? receivedAtMs + Number(text) * 1000 : undefined;
}
