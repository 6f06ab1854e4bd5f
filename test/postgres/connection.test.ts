import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { POSTGRES_LOGINS_MAX_COUNT } from '#src/limits.js';
import { serveConnection } from '#src/postgres/connection.js';
import { Door } from '#src/postgres/door.js';
import { SessionTable } from '#src/postgres/sessions.js';
import { ProtocolFault } from '#src/postgres/wire/protocol-fault.js';
import type { SqlCursor } from '#src/sql/engine/engine.js';
import { errorOf, logInPostgres, query, rowsOf, typesOf } from '../tools/postgres-client.js';

/* Ends of connections by the server, with a stub engine. */

/** More bytes than the buffers of an unread socket hold. */
const ANSWER_BYTES = 64 * 1024 * 1024;
const login = { credentialId: 'sqlc_1', organizationId: 'lab', username: 'sql_1', passwordHash: '' };

let server: Server;
let port: number;
let sessions: SessionTable;
let stopping: AbortController;
let sockets: Socket[];
/** Resolves when each connection has ended. */
let served: Promise<void>[];
let revoke: () => void;
let onFetch: () => void;

const cursor: SqlCursor = {
  shape: { columns: [], parameterTypeIds: [] },
  fetch: async () => {
    onFetch();
    return { rowCount: 1, isDone: true, bytes: Buffer.alloc(ANSWER_BYTES) };
  },
  close: () => undefined,
};

beforeEach(async () => {
  sessions = new SessionTable();
  stopping = new AbortController();
  sockets = [];
  served = [];
  const parts = {
    sql: { execute: async () => cursor, describe: async () => cursor.shape },
    credentials: {
      logIn: async () => login,
      watch: (_login: unknown, onEnd: () => void) => {
        revoke = onEnd;
        return () => undefined;
      },
    },
    sessions,
    door: new Door(POSTGRES_LOGINS_MAX_COUNT),
    serverVersion: '1',
    stopping: stopping.signal,
    onFault: (error: unknown) => expect.fail(String(error)),
  };
  server = createServer((socket) => {
    sockets.push(socket);
    served.push(serveConnection(socket, parts));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => server.close(resolve));
});

const logIn = () => logInPostgres(port, { user: 'sql_1', password: 'right' });

it('a session with a revoked login ends although its client does not read', async () => {
  const fetched = new Promise<void>((resolve) => (onFetch = resolve));
  const client = await logIn();
  client.socket.pause();
  client.send(query('SELECT 1'));
  await fetched;
  // The server starts to write the answer in the next turn.
  await new Promise(setImmediate);
  expect(sessions.count()).toBe(1);
  revoke();
  await Promise.all(served);
  expect(sessions.count()).toBe(0);
  client.socket.destroy();
}, 10_000);

it('a session with a revoked login sends its reading client the reason', async () => {
  const client = await logIn();
  revoke();
  expect(errorOf(await client.closed()).code).toBe('57P01');
  await Promise.all(served);
});

it("a login during the server's stop gets the reason and does not become a session", async () => {
  stopping.abort(new ProtocolFault('57P01', 'The server stops.', true));
  const { greeting, closed } = await logIn();
  const answer = [...greeting, ...(await closed())];
  expect([typesOf(answer).includes('Z'), rowsOf(answer)]).toEqual([false, []]);
  expect(errorOf(answer)).toEqual({ code: '57P01', message: 'The server stops.' });
  await Promise.all(served);
  expect(sessions.count()).toBe(0);
}, 10_000);
