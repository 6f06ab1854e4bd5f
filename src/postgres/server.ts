import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Refusal } from '../errors.js';
import {
  POSTGRES_LOGINS_MAX_COUNT,
  POSTGRES_SESSIONS_MAX_COUNT,
  SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT,
} from '../limits.js';
import { serveConnection, type ConnectionDependencies } from './connection.js';
import { Door } from './door.js';
import { SessionTable } from './sessions.js';

export interface PostgresOptions extends Omit<ConnectionDependencies, 'sessions' | 'door' | 'stopping'> {
  readonly host: string;
  /** 0 is any free port. */
  readonly port: number;
}

/** The server of the PostgreSQL protocol. */
export interface PostgresServer {
  readonly port: number;
  sessionCount(): number;
  /** Sends every client a reason, ends running statements and closes all connections. Errors  none */
  stop(): Promise<void>;
}

/**
 * Bound on connections: sessions, pending logins and password checks, and as many again that are refused or closing.
 */
const CONNECTIONS_MAX_COUNT =
  2 * (POSTGRES_SESSIONS_MAX_COUNT + POSTGRES_LOGINS_MAX_COUNT + SQL_PASSWORD_CHECKS_WAITING_MAX_COUNT);

/** Starts the server. Errors  that of the socket if it cannot listen on the address */
export async function servePostgres({ host, port, ...options }: PostgresOptions): Promise<PostgresServer> {
  const stopping = new AbortController();
  const sessions = new SessionTable();
  const door = new Door(POSTGRES_LOGINS_MAX_COUNT);
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    void serveConnection(socket, { ...options, sessions, door, stopping: stopping.signal });
  });
  server.maxConnections = CONNECTIONS_MAX_COUNT;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    sessionCount: () => sessions.count(),
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      stopping.abort(new Refusal('server_stopping', 'The server is stopping.'));
      const last = setTimeout(() => sockets.forEach((socket) => socket.destroy()), 1_000);
      await closed;
      clearTimeout(last);
    },
  };
}
