import { failureOf, GloamingError } from './failure.js';
import { PLACES, type Operations } from './types/operations.js';

export type OperationId = keyof Operations;

/** Parameters, query and body of an operation, and the options of every call. */
export type Input<Id extends OperationId> = Omit<Operations[Id], 'answer'> & CallOptions;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** `Service-Request-Timeout`, `Prefer` and others that the operation documents. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:8080`; '' for a page of the server itself. */
  readonly url: string;
  /** `glm_…`; a page with a session needs none. */
  readonly key?: string;
  /** Most retries of a transient failure. Default 4 */
  readonly retries?: number;
  /** Default: that of the platform. */
  readonly fetch?: typeof fetch;
  /** Waits for `ms` milliseconds. Default: a timer. */
  readonly pause?: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Sends requests and retries transient failures; Idempotency-Keys make retries safe. */
export interface Transport {
  /** Errors  GloamingError for every failed response; those of fetch without a response */
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
  // fetch of browsers throws when it is called as a method of another object.
  const request = options.fetch ?? ((url, init) => fetch(url, init));
  return {
    pause,
    async send(id, input) {
      const { url, init } = requestOf(options, id, input);
      for (let attempt = 0; ; attempt += 1) {
        const outcome = await request(url, init).catch((error: unknown) => error as Error);
        if (outcome instanceof Response && outcome.ok) return outcome;
        const failure = outcome instanceof Response ? await failureOf(outcome) : outcome;
        if (attempt >= retries || !isTransient(failure) || input.signal?.aborted) throw failure;
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
        // The server executes requests with one key once.
        ...(method === 'GET' ? {} : { 'Idempotency-Key': newKey() }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
    },
  };
}

/** Whether a retry may succeed: after a network error, or if the response says so. */
function isTransient(failure: Error): boolean {
  return failure instanceof GloamingError ? failure.isRetryable : failure instanceof TypeError;
}

function pauseOf(failure: Error, attempt: number): number {
  const seconds = failure instanceof GloamingError ? failure.retryAfterSeconds : undefined;
  if (seconds !== undefined) return Math.min(seconds * 1000, LONGEST_PAUSE_MS);
  // Jitter spreads the retries of clients that failed at the same time.
  return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
}

function pauseByTimer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      // A signal may outlive many pauses, so that listeners would pile up.
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
  });
}

/** Returns 128 random bits as hex. Pages served by plain HTTP lack crypto.randomUUID. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
