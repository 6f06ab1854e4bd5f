import { readFileSync } from 'node:fs';
import { BlockList, isIPv6, type Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { linkAborts, type LinkedAbort } from '../abort.js';
import { POSTGRES_LOGIN_MAX_MS } from '../limits.js';
import type { SqlCredentials, SqlLogin } from '../services/sql/credentials.js';
import type { Sql } from '../services/sql/sql.js';
import {
  askForPassword,
  authenticationOk,
  backendKey,
  errorResponse,
  parameterStatus,
  readyForQuery,
} from './wire/answers.js';
import type { Door } from './door.js';
import { Frames } from './wire/frames.js';
import { reportedParameters, serverParameters, versionText } from './parameters.js';
import { ProtocolFault } from './wire/protocol-fault.js';
import { faultOf, Session } from './session.js';
import type { Write } from './session-state.js';
import type { SessionTable } from './sessions.js';
import { readFirstMessage, readPassword } from './wire/startup.js';

export interface ConnectionDependencies {
  readonly sql: Pick<Sql, 'execute' | 'describe'>;
  readonly credentials: Pick<SqlCredentials, 'logIn' | 'watch'>;
  readonly sessions: SessionTable;
  readonly door: Door;
  readonly serverVersion: string;
  /** PEM files. They are read for each connection, so that a renewed certificate takes effect at once. */
  readonly tls?: { readonly certificateFile: string; readonly keyFile: string };
  /** Aborts when the server stops, with the reason. */
  readonly stopping: AbortSignal;
  readonly onFault: (error: unknown) => void;
}

/** Time for the last bytes to reach the client when its connection ends. */
const LAST_BYTES_MAX_MS = 1_000;

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Serves one client from its first byte to its last. Errors  none: a failure ends the connection */
export async function serveConnection(socket: Socket, dependencies: ConnectionDependencies): Promise<void> {
  const ending = linkAborts(dependencies.stopping);
  dependencies.door.enter(socket);
  // A socket error closes the connection, which is handled below. It needs no report.
  socket.on('error', () => undefined);
  socket.once('close', () =>
    ending.abort(new ProtocolFault('08006', 'The client closed the connection.', true)),
  );
  socket.once('close', () => dependencies.door.leave(socket));
  const late = setTimeout(() => socket.destroy(), POSTGRES_LOGIN_MAX_MS);
  let stream: Socket = socket;
  try {
    const opened = await openStream(socket, dependencies);
    if (opened === undefined) return;
    stream = opened.stream;
    const write = writer(stream);
    await write(askForPassword());
    const password = await readPassword(opened.frames);
    if (password === undefined) return;
    dependencies.door.leave(socket);
    const login = await logIn(opened.startup.get('user') ?? '', password, dependencies);
    clearTimeout(late);
    await serveLogin(login, opened, write, { ...dependencies, ending });
  } catch (error) {
    sendError(stream, error, dependencies.onFault);
  } finally {
    clearTimeout(late);
    ending.release();
    stream.end();
    destroyLate(socket);
  }
}

interface Opened {
  readonly stream: Socket;
  readonly frames: Frames;
  readonly startup: ReadonlyMap<string, string>;
}

/**
 * Negotiates TLS if the client requests it. Returns undefined if the client disconnected or sent a cancellation.
 * Errors  ProtocolFault
 */
async function openStream(socket: Socket, dependencies: ConnectionDependencies): Promise<Opened | undefined> {
  let stream: Socket = socket;
  let frames = new Frames(stream);
  for (;;) {
    const first = await readFirstMessage(frames);
    if (first === undefined) return undefined;
    if (first.kind === 'cancel') {
      dependencies.sessions.cancel(first.processId, first.secret);
      return undefined;
    }
    if (first.kind === 'startup') {
      requireSafe(socket, stream);
      return { stream, frames, startup: first.parameters };
    }
    if (first.kind === 'gss' || dependencies.tls === undefined || stream !== socket) {
      stream.write('N');
      continue;
    }
    // An attacker could have injected bytes before TLS.
    if (frames.hasMore())
      throw new ProtocolFault('08P01', 'The client sent data before the TLS handshake.', true);
    frames.release();
    stream = startTls(socket, dependencies.tls);
    frames = new Frames(stream);
  }
}

function startTls(
  socket: Socket,
  { certificateFile, keyFile }: NonNullable<ConnectionDependencies['tls']>,
): TLSSocket {
  const secureContext = createSecureContext({
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    minVersion: 'TLSv1.2',
  });
  socket.write('S');
  const secure = new TLSSocket(socket, { isServer: true, secureContext });
  secure.on('error', () => socket.destroy());
  return secure;
}

/** Requires TLS, so that no password crosses the network in clear text. Loopback is exempt. */
function requireSafe(socket: Socket, stream: Socket): void {
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  if (stream instanceof TLSSocket || LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')) return;
  throw new ProtocolFault(
    '28000',
    'From another machine, TLS is required: connect with sslmode=require.',
    true,
  );
}

/** Authenticates. Errors  ProtocolFault with the SQLSTATE of the refusal */
async function logIn(
  user: string,
  password: string,
  { credentials }: ConnectionDependencies,
): Promise<SqlLogin> {
  try {
    return await credentials.logIn(user, password);
  } catch (error) {
    const { sqlState, message } = faultOf(error);
    throw new ProtocolFault(sqlState === '57P01' ? '28P01' : sqlState, message, true);
  }
}

async function serveLogin(
  login: SqlLogin,
  { stream, frames, startup }: Opened,
  write: Write,
  {
    sql,
    credentials,
    sessions,
    serverVersion,
    ending,
  }: ConnectionDependencies & { readonly ending: LinkedAbort },
): Promise<void> {
  // The server may have begun to stop during authentication.
  ending.signal.throwIfAborted();
  const parameters = serverParameters(login.username, startup.get('application_name') ?? '');
  const session = new Session({
    sql,
    login,
    parameters,
    versionText: versionText(serverVersion),
    write,
    signal: ending.signal,
  });
  const { processId, secret, leave } = sessions.enter(login.organizationId, () => session.cancel());
  const unwatch = credentials.watch(login, () =>
    ending.abort(new ProtocolFault('57P01', 'The SQL credential was revoked or has a new password.', true)),
  );
  const onEnd = (): void => {
    if (!stream.destroyed) stream.write(errorResponse(faultOf(ending.signal.reason)));
    stream.destroySoon();
    destroyLate(stream);
  };
  ending.signal.addEventListener('abort', onEnd, { once: true });
  try {
    await write(
      Buffer.concat([
        authenticationOk(),
        ...reportedParameters(parameters).map(([name, value]) => parameterStatus(name, value)),
        backendKey(processId, secret),
        readyForQuery('I'),
      ]),
    );
    await session.serve(frames);
  } finally {
    ending.signal.removeEventListener('abort', onEnd);
    unwatch();
    leave();
  }
}

/** Closes the socket of a client that does not read the last bytes. */
function destroyLate(socket: Socket): void {
  setTimeout(() => socket.destroy(), LAST_BYTES_MAX_MS).unref();
}

/** Sends the client the reason for the end of the connection, if the socket is still writable. */
function sendError(stream: Socket, error: unknown, onFault: (error: unknown) => void): void {
  const fault = faultOf(error);
  if (fault.sqlState === 'XX000') onFault(error);
  const { sqlState, message } = fault;
  if (stream.writable) stream.write(errorResponse(new ProtocolFault(sqlState, message, true)));
}

function writer(stream: Socket): Write {
  return (bytes) =>
    new Promise((resolve, reject) => {
      const closed = (): void => {
        stream.off('drain', drained);
        reject(new ProtocolFault('08006', 'The client closed the connection.', true));
      };
      const drained = (): void => {
        stream.off('close', closed);
        resolve();
      };
      if (!stream.writable) return closed();
      if (stream.write(bytes)) return resolve();
      stream.once('drain', drained);
      stream.once('close', closed);
    });
}
