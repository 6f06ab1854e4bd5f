import { failureOf, GloamingError } from './failure.js';
import { PLACES, type Operations } from './types/operations.js';

export type OperationId = keyof Operations;

/** What a call of this operation takes, beside what every call may. */
export type Input<Id extends OperationId> = Omit<Operations[Id], 'answer'> & CallOptions;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** `Service-Request-Timeout`, `Prefer` and others that the operation documents. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** Where the server is, such as `http://127.0.0.1:8080`; '' for a page that the server itself has served. */
  readonly url: string;
  /** `glm_…`; a page that has signed in does without. */
  readonly key?: string;
  /** How often a request is sent again that failed for the moment. Default 4 */
  readonly retries?: number;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch;
  /** Waits so many milliseconds. Default: by a timer. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Sends requests, and sends them again where that may help and cannot do anything twice. */
export interface Transport {
  /** Errors  GloamingError for every answer that is no success; those of fetch where there is no answer */
  send(id: OperationId, input: LooseInput): Promise<Response>;
  readonly pause: NonNullable<ClientOptions['pause']>;
}

export interface LooseInput extends CallOptions {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

const DEFAULT_RETRIES = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;

export function createTransport(options: ClientOptions): Transport {
  const { retries = DEFAULT_RETRIES, pause = pauseByTimer } = options;
  // Called as a member of something else, the browser's own refuses.
  const ask = options.fetch ?? ((url, init) => fetch(url, init));
  return {
    pause,
    async send(id, input) {
      const { url, init } = requestOf(options, id, input);
      for (let attempt = 0; ; attempt += 1) {
        const outcome = await ask(url, init).catch((error: unknown) => error as Error);
        if (outcome instanceof Response && outcome.ok) return outcome;
        const failure = outcome instanceof Response ? await failureOf(outcome) : outcome;
        if (attempt >= retries || !mayHelp(failure) || input.signal?.aborted) throw failure;
        await pause(pauseOf(failure, attempt), input.signal);
      }
    },
  };
}

function requestOf(
  { url, key }: ClientOptions,
  id: OperationId,
  { params = {}, query = {}, body, headers, signal }: LooseInput,
): { readonly url: string; readonly init: RequestInit } {
  const { method, path, accept = 'application/json' } = PLACES[id];
  const filled = path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const texts = pairs.map(([name, value]): [string, string] => [name, String(value)]);
  const search = new URLSearchParams(texts).toString();
  return {
    url: url.replace(/\/+$/, '') + filled + (search === '' ? '' : `?${search}`),
    init: {
      method,
      headers: {
        Accept: accept,
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        // Under one key the request is executed once, however often it is sent.
        ...(method === 'GET' ? {} : { 'Idempotency-Key': newKey() }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    },
  };
}

/** No answer at all may come at the next try; an answer says itself whether it may. */
function mayHelp(failure: Error): boolean {
  return failure instanceof GloamingError ? failure.isRetryable : failure instanceof TypeError;
}

function pauseOf(failure: Error, attempt: number): number {
  const asked = failure instanceof GloamingError ? failure.retryAfterSeconds : undefined;
  if (asked !== undefined) return Math.min(asked * 1000, LONGEST_PAUSE_MS);
  // Clients that failed together should not come back together.
  return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

function pauseByTimer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      // The signal may live as long as its page, and many pauses go by.
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
  });
}

/** 128 random bits; randomUUID is not there on pages that came by plain HTTP. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
