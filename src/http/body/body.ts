import type { IncomingMessage, ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { freeBytes, joinInTurns } from '../../buffers.js';
import type { ByteBody } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import { BODY_DISCARD_MAX_BYTES, BYTE_BODY_IDLE_MS, REFUSED_BODY_READ_MAX_BYTES } from '../../limits.js';

/** A refused body that stands still for so long is not waited for. */
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
 * The body's bytes, refused as soon as they pass the limit.
 * Errors  Refusal `body_too_large`, before anything is read where Content-Length tells it; `request_timeout`; rejects
 *         when the client goes
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
 * The body as it comes, to be read once; what a client announces that is too large is refused before anything is read.
 * Errors  Refusal `body_too_large`; while it is read, `request_timeout` where it stands still
 */
export function byteBody(request: IncomingMessage, response: ServerResponse, maxBytes: number): ByteBody {
  const announced = request.headers['content-length'];
  const announcedBytes = announced === undefined ? undefined : Number(announced);
  if (announcedBytes !== undefined && announcedBytes > maxBytes) {
    throw new Refusal('body_too_large', `The body is larger than ${maxBytes} bytes.`, {
      max_bytes: maxBytes,
    });
  }
  return { ...(announcedBytes === undefined ? {} : { announcedBytes }), bytes: arriving(request, response) };
}

/**
 * Chunks as the parser gives them, one at a time. The stream's own iterator joins what has gathered and makes a
 * dozen objects a chunk, which at a gigabyte a second is a heap of tens of megabytes.
 */
async function* arriving(request: IncomingMessage, response: ServerResponse): AsyncGenerator<Uint8Array> {
  if (isWaitingToSend(request)) response.writeContinue();
  const chunks: Buffer[] = [];
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const onData = (chunk: Buffer): void => {
    chunks.push(chunk);
    request.pause();
    wake?.();
  };
  const idle = setTimeout(() => {
    // A disk that is slow is not the client's fault.
    if (wake === undefined) return;
    failure = new Refusal(
      'request_timeout',
      `No byte of the body has come for ${BYTE_BODY_IDLE_MS / 1000} s.`,
    );
    wake();
  }, BYTE_BODY_IDLE_MS);
  let isEnded = false;
  const forget = finished(request, { writable: false }, (error) => {
    isEnded = true;
    failure ??= error ?? undefined;
    wake?.();
  });
  request.on('data', onData).pause();
  try {
    for (;;) {
      const chunk = chunks.shift();
      if (chunk !== undefined) {
        yield chunk;
        freeBytes(chunk);
        continue;
      }
      if (failure !== undefined) throw failure;
      if (isEnded) return;
      idle.refresh();
      await new Promise<void>((resolve) => {
        wake = resolve;
        request.resume();
      });
      wake = undefined;
    }
  } finally {
    clearTimeout(idle);
    forget();
    request.off('data', onData).pause();
  }
}

/** What is promised, or undefined where it does not come in time. */
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
 * Reads what is left of a refused body, so that a client that writes before it reads sees the refusal. A body past the
 * bound, or one that does not flow, is not waited for: the connection closes with the response.
 * Returns the body where it is short and nobody had read any of it.
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

/** The rest of the body, where it has come within the bounds; without the bytes where it is not short. */
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
