import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { freeBytes, joinInTurns } from '../../buffers.js';
import type { ByteBody } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import {
  BODY_DISCARD_MAX_BYTES,
  BYTE_BODY_PROGRESS_BYTES,
  BYTE_BODY_PROGRESS_MS,
  REFUSED_BODY_READ_MAX_BYTES,
} from '../../limits.js';

/** The server stops reading a refused body that sends no byte for this long. */
const BODY_DISCARD_PAUSE_MS = 200;

/** Whether the request announces a body at all. */
export function hasBody(request: IncomingMessage): boolean {
  return (
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0
  );
}

/** Errors  Refusal `unsupported_media_type` for anything but uncompressed JSON in UTF-8 */
export function requireJson(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? '';
  const [media = '', ...parameters] = type.split(';').map((part) => part.trim().toLowerCase());
  const charset = parameters.find((parameter) => parameter.startsWith('charset='))?.slice('charset='.length);
  const isUtf8 = charset === undefined || /^"?utf-?8"?$/.test(charset);
  if (media !== 'application/json' || !isUtf8) {
    const came = type === '' ? 'no Content-Type' : `Content-Type ${JSON.stringify(type.slice(0, 128))}`;
    throw new Refusal('unsupported_media_type', `The body must be application/json in UTF-8; ${came} came.`);
  }
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    throw new Refusal('unsupported_media_type', 'The body must be sent without Content-Encoding.');
  }
}

/**
 * Reads the body and refuses it as soon as it passes the limit.
 * Errors  Refusal `body_too_large`, before any read where Content-Length announces it; `request_timeout`; rejects when
 *         the client disconnects
 */
export async function readBody(
  request: IncomingMessage,
  response: ServerResponse,
  maxBytes: number,
  timeoutMs: number,
): Promise<Buffer> {
  const tooLarge = (): Refusal =>
    new Refusal('body_too_large', `The body is larger than ${maxBytes} bytes.`, { max_bytes: maxBytes });
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  if (isWaitingToSend(request)) response.writeContinue();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const readAll = async (): Promise<Buffer> => {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw tooLarge();
      chunks.push(chunk as Buffer);
    }
    return joinInTurns(chunks);
  };
  const body = await within(timeoutMs, readAll());
  if (body !== undefined) return body;
  throw new Refusal('request_timeout', 'The request did not arrive completely in time.');
}

/**
 * The body as a stream for one reader. A body that is announced as too large is refused before any read.
 * Errors  Refusal `body_too_large`; during the read, `request_timeout` when too few bytes arrive
 */
export function byteBody(request: IncomingMessage, response: ServerResponse, maxBytes: number): ByteBody {
  const announced = request.headers['content-length'];
  const announcedBytes = announced === undefined ? undefined : Number(announced);
  if (announcedBytes !== undefined && announcedBytes > maxBytes) {
    throw new Refusal('body_too_large', `The body is larger than ${maxBytes} bytes.`, {
      max_bytes: maxBytes,
    });
  }
  const reading: Reading = {};
  return {
    ...(announcedBytes === undefined ? {} : { announcedBytes }),
    bytes: arriving(request, response, reading),
    end: (error) => fail(reading, error),
  };
}

/**
 * Yields chunks as the parser delivers them. The iterator of the stream joins waiting chunks and allocates a dozen
 * objects a chunk. At a gigabyte a second, that is a heap of tens of megabytes.
 */
async function* arriving(
  request: IncomingMessage,
  response: ServerResponse,
  reading: Reading,
): AsyncGenerator<Uint8Array> {
  if (isWaitingToSend(request)) response.writeContinue();
  const chunks: Buffer[] = [];
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    request.pause();
    reading.wake?.();
  };
  const progress = new Progress(() => {
    const least = `${BYTE_BODY_PROGRESS_BYTES} bytes of the body within ${BYTE_BODY_PROGRESS_MS / 1000} s`;
    fail(reading, new Refusal('request_timeout', `The body came too slowly: fewer than ${least}.`));
  });
  let isEnded = false;
  const forget = finished(request, { writable: false }, (error) => {
    isEnded = true;
    reading.failure ??= error ?? undefined;
    reading.wake?.();
  });
  request.on('data', onData).pause();
  try {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        progress.add(chunk.length);
        yield chunk;
        freeBytes(chunk);
        continue;
      }
      if (reading.failure !== undefined) throw reading.failure;
      if (isEnded) return;
      progress.beginWait();
      await new Promise<void>((resolve) => {
        reading.wake = resolve;
        request.resume();
      });
      reading.wake = undefined;
      progress.endWait();
    }
  } finally {
    progress.end();
    forget();
    request.off('data', onData).pause();
  }
}

/** The state of a body that is read. */
interface Reading {
  failure?: Error | undefined;
  /** Present while the reader waits for bytes. */
  wake?: (() => void) | undefined;
}

function fail(reading: Reading, error: Error): void {
  reading.failure ??= error;
  reading.wake?.();
}

/**
 * Bounds the time that the reader waits for each BYTE_BODY_PROGRESS_BYTES. Other time does not count, because a slow
 * disk is not a fault of the client.
 */
class Progress {
  readonly #onTooSlow: () => void;
  #bytes = 0;
  /** Time that the reader has waited for the present bytes, without the present wait. */
  #waitedMs = 0;
  #waitStartMs: number | undefined;
  #timer: NodeJS.Timeout;

  constructor(onTooSlow: () => void) {
    this.#onTooSlow = onTooSlow;
    this.#timer = setTimeout(() => this.#look(), BYTE_BODY_PROGRESS_MS);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= BYTE_BODY_PROGRESS_BYTES) [this.#bytes, this.#waitedMs] = [0, 0];
  }

  beginWait(): void {
    this.#waitStartMs = performance.now();
  }

  endWait(): void {
    this.#waitedMs = this.#waitedNowMs();
    this.#waitStartMs = undefined;
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  /** The timer is not moved by each chunk. It looks how much time is left, and comes again after this time. */
  #look(): void {
    const leftMs = BYTE_BODY_PROGRESS_MS - this.#waitedNowMs();
    if (leftMs <= 0) return this.#onTooSlow();
    this.#timer = setTimeout(() => this.#look(), Math.ceil(leftMs));
  }

  #waitedNowMs(): number {
    return this.#waitedMs + (this.#waitStartMs === undefined ? 0 : performance.now() - this.#waitStartMs);
  }
}

/** Returns the value, or undefined when the promise does not settle in time. */
async function within<Value>(ms: number, promised: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(resolve, ms, undefined)));
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Reads the rest of a refused body, so that a client that writes before it reads receives the refusal. A body that is
 * too long or stalls is not read: the connection closes with the response. Returns the body if it is short and was not
 * read before.
 */
export async function discardBody(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Buffer | undefined> {
  const isUnread = !request.readableDidRead;
  if (request.destroyed || request.readableEnded || (request.complete && !isUnread)) return undefined;
  const isTooMuch = Number(request.headers['content-length'] ?? 0) > BODY_DISCARD_MAX_BYTES;
  const rest = isTooMuch || isWaitingToSend(request) ? undefined : await flowAway(request);
  if (rest === undefined && !request.complete) response.setHeader('Connection', 'close');
  return isUnread ? rest?.short : undefined;
}

/** Reads the rest of the body within the bounds. Leaves the bytes out if they are too many to return. */
async function flowAway(request: IncomingMessage): Promise<{ readonly short?: Buffer } | undefined> {
  let bytes = 0;
  let read: Buffer[] = [];
  const chunks = request.iterator({ destroyOnReturn: false });
  while (bytes <= BODY_DISCARD_MAX_BYTES) {
    const next = await within(BODY_DISCARD_PAUSE_MS, chunks.next());
    if (next === undefined) return undefined;
    if (next.done === true) return bytes > REFUSED_BODY_READ_MAX_BYTES ? {} : { short: Buffer.concat(read) };
    const chunk = next.value as Buffer;
    bytes += chunk.length;
    if (bytes > REFUSED_BODY_READ_MAX_BYTES) read = [];
    else read.push(chunk);
  }
  return undefined;
}

/** True for a client that waits for `100 Continue` before it sends its body. */
function isWaitingToSend(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersion === '1.1';
}
