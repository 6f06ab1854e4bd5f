import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** One request that has been read at least to the end of its headers, and is not answered. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What goes on over the connections of a server. */
export interface Exchanges {
  /** Of one connection, in the order in which they came. */
  of(socket: Duplex): readonly Exchange[];
  /** On all connections. */
  count(): number;
  /** Ends every connection, those included that Node's own list lacks: after CONNECT, or before TLS has begun. */
  cut(): void;
}

/** To be called before anybody else listens to the server. */
export function watchExchanges(server: Server): Exchanges {
  const exchanges = new Map<Duplex, Set<Exchange>>();
  const connections = new Set<Duplex>();
  const watched = new WeakSet<Duplex>();
  const watch = (socket: Duplex): void => {
    if (watched.has(socket)) return;
    watched.add(socket);
    // Node closes the response whose turn it is, and says nothing to those behind it. It has its own turn first.
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

/** A response that never had the connection: nothing of it goes out any more, and whoever works for it hears so. */
function close({ response }: Exchange): void {
  response.destroy();
  response.emit('close');
}
