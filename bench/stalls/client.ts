import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { assert } from '../../src/errors.js';
import type { Run } from '../../src/contract/runs/runs.js';

/** Address of the server, and credentials. */
export interface StallClient {
  readonly url: string;
  readonly key: string;
  readonly postgresPort: number;
}

interface SqlLogin {
  readonly user: string;
  readonly password: string;
}

interface Sent {
  readonly method: string;
  readonly path: string;
  /** JSON value; a string is sent unchanged. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Sends a request and returns the bytes of its answer.
 * @param expected status; default any success
 */
export async function call(
  { url, key }: StallClient,
  { method, path, body, headers }: Sent,
  expected?: number,
): Promise<Buffer> {
  const sent = request(url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
  });
  sent.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body));
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const pieces: Buffer[] = [];
  for await (const piece of response) pieces.push(piece as Buffer);
  const bytes = Buffer.concat(pieces);
  const { statusCode = 0 } = response;
  const isExpected = expected === undefined ? statusCode < 300 : statusCode === expected;
  assert(isExpected, `${method} ${path}: ${statusCode} ${bytes.toString().slice(0, 500)}`);
  return bytes;
}

export async function createSqlLogin(client: StallClient): Promise<SqlLogin> {
  const answer = await call(client, { method: 'POST', path: '/v1/sql-credentials', body: { name: 'bench' } });
  const { data } = JSON.parse(String(answer)) as {
    readonly data: { readonly sql_engine_user: string; readonly password: string };
  };
  return { user: data.sql_engine_user, password: data.password };
}

/** Runs a SQL statement over HTTP and returns the bytes of the answer. */
export function askSql(client: StallClient, { user, password }: SqlLogin, body: object, accept: string) {
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  const headers = { Authorization: `Basic ${basic}`, Accept: accept };
  return call(client, { method: 'POST', path: '/v1/sql/query', body, headers });
}

/** Runs one statement over the PostgreSQL protocol in a new session. Returns the number of received bytes. */
export async function askPostgres(
  { postgresPort }: StallClient,
  { user, password }: SqlLogin,
  sql: string,
): Promise<number> {
  const socket = connect(postgresPort, '127.0.0.1');
  const options = Buffer.from(`\0\x03\0\0user\0${user}\0database\0gloaming\0\0`, 'latin1');
  socket.write(Buffer.concat([int32(options.length + 4), options]));
  socket.write(Buffer.concat([message('p', password), message('Q', sql), message('X')]));
  let bytes = 0;
  socket.on('data', ({ length }) => (bytes += length));
  await once(socket, 'close');
  return bytes;
}

function message(type: string, text?: string): Buffer {
  const body = Buffer.from(text === undefined ? '' : `${text}\0`);
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

/** Submits a run and waits for its completion. */
export async function completeRun(client: StallClient, endpoint: string, input: object): Promise<Run> {
  let run = runIn(await call(client, { method: 'POST', path: '/v1/runs', body: { endpoint, input } }));
  while (run.finished_at === undefined) {
    const headers = { Prefer: 'wait=60' };
    run = runIn(await call(client, { method: 'GET', path: `/v1/runs/${run.id}`, headers }));
  }
  assert(run.status === 'completed', `the run must complete: ${JSON.stringify(run.error)}`);
  return run;
}

function runIn(answer: Buffer): Run {
  return (JSON.parse(String(answer)) as { readonly data: Run }).data;
}
