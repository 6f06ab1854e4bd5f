import { Agent as HttpAgent, request as requestHttp, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { readFileSync } from 'node:fs';
import { Fault, Refusal } from '../../errors.js';
import { WORKER_REFUSAL_MAX_BYTES, WORKER_RETRY_MAX_SECONDS } from '../../limits.js';
import type { WorkerNode } from '../../config.js';
import { SURVEYS_PATH } from './partial-result-request.js';

/** What a worker has said in place of an answer. */
export class WorkerRefusal extends Error {
  override readonly name = 'WorkerRefusal';

  constructor(
    /** Its own words and not ours: for the log, and quoted there. */
    message: string,
    readonly code: string,
    readonly retryAfterSeconds: number | undefined,
  ) {
    super(message);
  }
}

/** The way to one worker. Its key is read at the start, and again where the worker refuses it. */
export interface WorkerLine {
  /**
   * Posts a request for surveys and gives the bytes of the answer.
   * Errors  WorkerRefusal for any status but 200, redirects among them; Fault for an answer of more bytes; those of
   *         the connection; the signal's reason
   */
  ask(body: string, options: AskOptions): Promise<Buffer>;
  /** Asks whether it would be answered at all. Errors  the same */
  greet(signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface AskOptions {
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Latest monotonic time (performance.now) at which it may begin. */
  readonly startDeadlineMs?: number;
}

/** Work has begun here in time: a worker whose queue is empty takes it. A tenth of a second or less is no deadline. */
const DEADLINE_MIN_SECONDS = 0.11;

/** Errors  Refusal `invalid_config` where a file cannot be read, or holds no key */
export function openLine({ url, keyFile, authorityFile }: WorkerNode): WorkerLine {
  const key = new KeyFile(keyFile, url);
  const ca = authorityFile === undefined ? undefined : readSetting(authorityFile);
  const isTls = url.startsWith('https:');
  const request = isTls ? requestHttps : requestHttp;
  const tls = { ca, minVersion: 'TLSv1.2' } as const;
  const kept = isTls ? new HttpsAgent({ keepAlive: true, ...tls }) : new HttpAgent({ keepAlive: true });

  const send = (body: string | undefined, options: AskOptions, agent: typeof kept | false): Promise<Buffer> =>
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
      const sending = request(url + SURVEYS_PATH, { method, headers, agent, signal, ...(isTls && tls) });
      sending.on('response', (answer) => readAnswer(answer, maxBytes).then(resolve, reject));
      // Unheard, a change of protocol would be no answer, and no failure either.
      sending.on('upgrade', ({ statusCode }, socket) => {
        socket.destroy();
        reject(new Fault(`It answered ${statusCode}, which nobody asked for.`));
      });
      sending.on('error', (error: NodeJS.ErrnoException) => {
        if (signal.aborted) reject(signal.reason as Error);
        // The worker has closed an idle connection while this went out: a new one tells whether it is there.
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
    ask: (body, options) => sendWithNewKey(body, options, kept),
    async greet(signal) {
      await sendWithNewKey(undefined, { maxBytes: WORKER_REFUSAL_MAX_BYTES, signal }, false);
    },
    close: () => kept.destroy(),
  };
}

/** The key in a file. One that is refused may have been replaced since it was read. */
class KeyFile {
  readonly #read: () => string;
  #current: string;

  /** Errors  Refusal `invalid_config` */
  constructor(file: string, url: string) {
    this.#read = () => {
      const key = readSetting(file).trim();
      if (/^[\x21-\x7e]{1,512}$/.test(key)) return key;
      throw new Refusal('invalid_config', `${file} must hold the API key of ${url} and nothing else.`);
    };
    this.#current = this.#read();
  }

  get current(): string {
    return this.#current;
  }

  /** What the file holds now; what it held last where it holds no key, as while it is being replaced. */
  readAgain(): string {
    try {
      this.#current = this.#read();
    } catch {
      // The worker's refusal says enough.
    }
    return this.#current;
  }
}

function readSetting(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Refusal('invalid_config', `${path}, which workers names, cannot be read (${code}).`);
  }
}

function secondsUntil(deadlineMs: number): string {
  return Math.max(DEADLINE_MIN_SECONDS, (deadlineMs - performance.now()) / 1000).toFixed(3);
}

async function readAnswer(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { statusCode = 0, headers } = answer;
  if (statusCode === 200) return readBytes(answer, maxBytes);
  const bytes = await readBytes(answer, WORKER_REFUSAL_MAX_BYTES);
  const { code, text } = saidIn(bytes);
  const seconds = Number(headers['retry-after']);
  const isBounded = seconds >= 1 && seconds <= WORKER_RETRY_MAX_SECONDS;
  throw new WorkerRefusal(
    `It answered ${statusCode} ${code}: ${JSON.stringify(text.slice(0, 256))}`,
    code,
    isBounded ? Math.ceil(seconds) : undefined,
  );
}

/** Code and sentence of a refusal, wherever this worker's version has them. */
function saidIn(bytes: Buffer): { readonly code: string; readonly text: string } {
  try {
    const { code, detail } = JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>;
    if (typeof code === 'string' && /^[a-z_]{1,64}$/.test(code)) return { code, text: String(detail) };
  } catch {
    // It is not one of ours that speaks; what it says is quoted all the same.
  }
  return { code: 'unknown', text: bytes.toString('latin1', 0, 256) };
}

async function readBytes(answer: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop closes the connection.
    if (bytes > maxBytes) throw new Fault(`It answered more than the ${maxBytes} bytes that were asked for.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
