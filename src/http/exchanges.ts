import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** One request whose headers were read completely and that has no complete response yet. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** The open requests on the connections of a server. */
export interface Exchanges {
  /** Requests of one connection, in order of arrival. */
  of(socket: Duplex): readonly Exchange[];
  /** Number of requests over all connections. */
  count(): number;
  /**
   * Closes every connection, including those that Node's own list lacks: after CONNECT, and before the TLS handshake
   * ends.
   */
  cut(): void;
}

/** Must be called before other listeners are added to the server. */
export function watchExchanges(server: Server): Exchanges {
  const exchanges = new Map<Duplex, Set<Exchange>>();
  const connections = new Set<Duplex>();
  const watched = new WeakSet<Duplex>();
  const watch = (socket: Duplex): void => {
    if (watched.has(socket)) return;
    watched.add(socket);
    // Node closes the current response and does not notify those behind it. setImmediate lets Node act first.
    socket.once('close', () => setImmediate(() => exchanges.get(socket)?.forEach(close)));
  };
  const track = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    watch(socket);
    const ofSocket = exchanges.get(socket) ?? new Set();
    const exchange = { request, response };
    exchanges.set(socket, ofSocket.add(exchange));
    response.once('close', () => {
      ofSocket.delete(exchange);
      if (ofSocket.size === 0) exchanges.delete(socket);
    });
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) server.prependListener(event, track);
  server.on('connection', (socket: Duplex) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return {
    of: (socket) => [...(exchanges.get(socket) ?? [])],
    count: () => [...exchanges.values()].reduce((sum, { size }) => sum + size, 0),
    cut: () => connections.forEach((socket) => socket.destroy()),
  };
}

/** Destroys a response that never got the connection, so that the work for it is cancelled. */
function close({ response }: Exchange): void {
  response.destroy();
  response.emit('close');
}
