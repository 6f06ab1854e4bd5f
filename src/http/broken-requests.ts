import type { IncomingMessage, Server } from 'node:http';
import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Route } from '../contract/grammar/route.js';
import { Refusal } from '../errors.js';
import { newId } from '../ids.js';
import { failureOf, renderFailure } from './steps/failure.js';
import { commonHeaders } from './steps/identify.js';
import {
  methodRefusal,
  methodsOf,
  pathRefusal,
  routeOfPath,
  SERVER_METHODS,
  type ShellRouter,
} from './steps/routing.js';
import type { Exchange, Exchanges } from './exchanges.js';
import type { Shell } from './shell.js';
import { readTarget } from './target.js';

/** The error that Node's parser reports for an unreadable request. */
interface ParserError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
}

/** Time for a refused client to read the refusal before its connection is closed. Unit milliseconds. */
const LINGER_MS = 2_000;

/** Answers requests that Node's HTTP parser refuses, so that these responses follow the contract, too. */
export function answerBrokenRequests(
  server: Server,
  exchanges: Exchanges,
  shell: Shell,
  router: ShellRouter,
): void {
  server.on('clientError', (error: ParserError, socket: Duplex) => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    const begun = exchanges.of(socket).find(({ request }) => !request.complete);
    const target = begun?.request.url ?? targetOf(error) ?? '';
    void afterWholeRequests(exchanges.of(socket)).then((isAnswering) => {
      if (isAnswering || !socket.writable) socket.destroy();
      else endWith(shell, socket, refusalOf(error, router), routeOfPath(shell, router, target));
    });
  });
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    endWith(shell, socket, methodRefusal('CONNECT', SERVER_METHODS));
    // The socket must be drained: otherwise its end is never reported.
    socket.resume();
  });
}

/**
 * Waits for the responses to earlier complete requests, because a client takes responses in order. Returns true when a
 * response to the broken request has begun: further bytes would corrupt it.
 */
async function afterWholeRequests(exchanges: readonly Exchange[]): Promise<boolean> {
  const broken = exchanges.find(({ request }) => !request.complete);
  const whole = exchanges.filter((exchange) => exchange !== broken);
  await Promise.all(whole.map(({ response }) => new Promise((resolve) => response.once('close', resolve))));
  return broken?.response.headersSent ?? false;
}

function refusalOf(error: ParserError, router: ShellRouter): Refusal {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('header_too_large', 'Request line and headers together exceed 16 KiB.');
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Refusal('body_too_large', 'The chunk extensions of the body are too large.');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('request_timeout', 'The request did not arrive completely in time.');
    case 'HPE_INVALID_METHOD':
      return unknownMethod(error, router) ?? malformed(error);
    default:
      return malformed(error);
  }
}

function malformed(error: ParserError): Refusal {
  return new Refusal(
    'malformed_request',
    `The bytes are not an HTTP/1.1 request: ${error.message.replace(/^Parse Error: /, '')}.`,
  );
}

/**
 * Returns the refusal of an unknown verb. Node's parser reports it like garbage, but a well-formed request line is a
 * 405.
 */
function unknownMethod(error: ParserError, router: ShellRouter): Refusal | undefined {
  const [method, url] = requestLineOf(error, (error.bytesParsed ?? 0) - 1);
  if (method === undefined || url === undefined) return undefined;
  try {
    const { path } = readTarget(url);
    const allowed = methodsOf(router, path);
    return allowed.length > 0 ? methodRefusal(method, allowed) : pathRefusal(path);
  } catch (refusal) {
    return refusal as Refusal;
  }
}

/** The request target of a request with incomplete headers. Undefined when the first line is incomplete, too. */
function targetOf(error: ParserError): string | undefined {
  if (error.code === 'HPE_INVALID_METHOD') return requestLineOf(error, (error.bytesParsed ?? 0) - 1)[1];
  return error.code === 'HPE_HEADER_OVERFLOW' ? requestLineOf(error, 0)[1] : undefined;
}

/** Method and target of the request line at this offset of the packet. An earlier pipelined request may precede it. */
function requestLineOf({ rawPacket }: ParserError, at: number): readonly [string?, string?] {
  const packet = rawPacket?.toString('latin1') ?? '';
  const start = packet.lastIndexOf('\n', Math.max(0, at)) + 1;
  const line = packet.slice(start).split('\r\n', 1)[0] ?? '';
  const [, method, url] =
    /^([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}) ([\x21-\x7e]+) HTTP\/1\.[01]$/.exec(line) ?? [];
  return [method, url];
}

/**
 * Writes the refusal as a complete response and closes the connection, because the rest of the bytes cannot be parsed.
 */
function endWith(shell: Shell, socket: Duplex, refusal: Refusal, pathRoute?: Route): void {
  const requestId = newId('req');
  const failure = failureOf(refusal);
  const { status, headers, body } = renderFailure(
    shell,
    {
      requestId,
      receivedAtMs: shell.clock.nowMs(),
      operation: 'unknown',
      signal: shell.stopping,
      query: {},
      repeated: [],
      params: {},
      headers: {},
      mediaType: 'application/json',
      ...(pathRoute && { pathRoute }),
    },
    failure,
  );
  const all = {
    ...commonHeaders(shell, requestId),
    ...headers,
    Date: shell.clock.now().toUTCString(),
    Connection: 'close',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  shell.log.info({ request_id: requestId, status, error_code: failure.code }, 'request');
  shell.metrics.observeRequest('unknown', 'unknown', status, 0);
  socket.on('error', () => undefined);
  const lingering = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(lingering));
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
}
