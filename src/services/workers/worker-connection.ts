import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { readFileSync } from 'node:fs';
import { Fault, Refusal } from '../../errors.js';
import { WORKER_REFUSAL_MAX_BYTES, WORKER_RETRY_MAX_SECONDS } from '../../limits.js';
import type { WorkerNode } from '../../config.js';
import { PARTIAL_RESULTS_PATH } from './partial-result-request.js';

/** A response of a worker with a status other than 200. */
export class WorkerRefusal extends Error {
  override readonly name = 'WorkerRefusal';

  constructor(
    /** Quotes the response body, which is not trusted, for the log. */
    message: string,
    readonly code: string,
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(message);
  }
}

/** HTTP connection to one worker. The API key is read at the start, and again if the worker refuses it. */
export interface WorkerConnection {
  /**
   * Posts a request for partial results and returns the body of the response.
   * Errors  WorkerRefusal for every status other than 200, redirects included; Fault for a response of more than
   *         `maxBytes`; errors of the connection; the signal's reason
   */
  send(body: string, options: SendOptions): Promise<Buffer>;
  /** Checks that the worker is reachable and accepts the key. Errors  as send */
  probe(signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface SendOptions {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Latest monotonic time (performance.now) at which the worker may start the work. */
  readonly startDeadlineMs?: number;
}

/**
 * Smallest start deadline that is sent. The coordinator's own deadline is met already, so a worker with an empty queue
 * should accept the work. Workers do not accept deadlines of a tenth of a second or less.
 */
const DEADLINE_MIN_SECONDS = 0.11;

/** Errors  Refusal `invalid_config` if a file cannot be read or has no API key */
export function connectWorker({ url, keyFile, authorityFile }: WorkerNode): WorkerConnection {
  const key = new KeyFile(keyFile, url);
  const ca = authorityFile === undefined ? undefined : readSetting(authorityFile);
  const isTls = url.startsWith('https:');
  const request = isTls ? requestHttps : requestHttp;
  const tls = { ca, minVersion: 'TLSv1.2' } as const;
  const keepAliveAgent = isTls
    ? new HttpsAgent({ keepAlive: true, ...tls })
    : new HttpAgent({ keepAlive: true });

  const send = (
    body: string | undefined,
    options: SendOptions,
    agent: typeof keepAliveAgent | false,
  ): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const { signal, maxBytes, startDeadlineMs } = options;
      const headers = {
        Authorization: `Bearer ${key.current}`,
        'User-Agent': 'gloaming-front',
        ...(body !== undefined && {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(body)),
        }),
        ...(startDeadlineMs !== undefined && { 'Service-Request-Timeout': secondsUntil(startDeadlineMs) }),
      };
      const method = body === undefined ? 'GET' : 'POST';
      const sending = request(url + PARTIAL_RESULTS_PATH, {
        method,
        headers,
        agent,
        signal,
        ...(isTls && tls),
      });
      sending.on('response', (response) => readResponse(response, maxBytes).then(resolve, reject));
      // Without this listener the promise would never settle after a protocol upgrade.
      sending.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        reject(new Fault(`The worker answered ${statusCode}, an upgrade that was not requested.`));
      });
      sending.on('error', (error: NodeJS.ErrnoException) => {
        if (signal.aborted) reject(signal.reason as Error);
        // The worker closed an idle connection while the request was sent. It is sent again on a new connection.
        else if (sending.reusedSocket && error.code === 'ECONNRESET')
          send(body, options, false).then(resolve, reject);
        else reject(error);
      });
      sending.end(body);
    });
  const sendWithNewKey: typeof send = async (...sending) => {
    const sentKey = key.current;
    try {
      return await send(...sending);
    } catch (error) {
      const isRefused = error instanceof WorkerRefusal && error.code === 'invalid_api_key';
      if (!isRefused || key.readAgain() === sentKey) throw error;
      return send(...sending);
    }
  };
  return {
    send: (body, options) => sendWithNewKey(body, options, keepAliveAgent),
    async probe(signal) {
      await sendWithNewKey(undefined, { maxBytes: WORKER_REFUSAL_MAX_BYTES, signal }, false);
    },
    close: () => keepAliveAgent.destroy(),
  };
}

/** The API key in a file, which an operator may replace at any time. */
class KeyFile {
  readonly #read: () => string;
  #current: string;

  /** Errors  Refusal `invalid_config` */
  constructor(file: string, url: string) {
    this.#read = () => {
      const key = readSetting(file).trim();
      if (/^[\x21-\x7e]{1,512}$/.test(key)) return key;
      throw new Refusal('invalid_config', `${file} must contain the API key of ${url} and nothing else.`);
    };
    this.#current = this.#read();
  }

  get current(): string {
    return this.#current;
  }

  /** Reads the file again and returns the key. Returns the previous key if the file has none at this moment. */
  readAgain(): string {
    try {
      this.#current = this.#read();
    } catch {
      // The caller reports the worker's refusal, which is more useful than this failure.
    }
    return this.#current;
  }
}

function readSetting(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Refusal('invalid_config', `The file ${path} of a worker cannot be read (${code}).`);
  }
}

function secondsUntil(deadlineMs: number): string {
  return Math.max(DEADLINE_MIN_SECONDS, (deadlineMs - performance.now()) / 1000).toFixed(3);
}

async function readResponse(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { statusCode = 0, headers } = response;
  if (statusCode === 200) return readBytes(response, maxBytes);
  const bytes = await readBytes(response, WORKER_REFUSAL_MAX_BYTES);
  const { code, text } = parseProblem(bytes);
  const seconds = Number(headers['retry-after']);
  const isBounded = seconds >= 1 && seconds <= WORKER_RETRY_MAX_SECONDS;
  throw new WorkerRefusal(
    `The worker answered ${statusCode} ${code}: ${JSON.stringify(text.slice(0, 256))}`,
    code,
    isBounded ? Math.ceil(seconds) : undefined,
  );
}

/** Parses code and detail of a refusal. Any other body gives the code `unknown` and the beginning of the body. */
function parseProblem(bytes: Buffer): { readonly code: string; readonly text: string } {
  try {
    const { code, detail } = JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>;
    if (typeof code === 'string' && /^[a-z_]{1,64}$/.test(code)) return { code, text: String(detail) };
  } catch {
    // The body is not JSON, for example because a proxy answered. It is quoted below.
  }
  return { code: 'unknown', text: bytes.toString('latin1', 0, 256) };
}

async function readBytes(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes)
      throw new Fault(`The worker's response has more than the ${maxBytes} bytes allowed.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
