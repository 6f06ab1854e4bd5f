import type { Static, TObject, TOptional, TProperties, TSchema } from '@sinclair/typebox';
import { isRefusalCode, type RefusalCode } from '../grammar/refusals.js';
import type { Route } from '../grammar/route.js';
import { ROUTES, type OperationId } from './routes.js';
import type { Defaulted } from '../grammar/schema.js';

type MayBeLeftOut<Properties extends TProperties> = {
  [Name in keyof Properties]: Properties[Name] extends Defaulted | TOptional<TSchema> ? Name : never;
}[keyof Properties];

/** A part of a request as callers write it: members with defaults may be left out. */
type Sent<Schema> =
  Schema extends TObject<infer Properties>
    ? { readonly [Name in Exclude<keyof Properties, MayBeLeftOut<Properties>>]: Static<Properties[Name]> } & {
        readonly [Name in MayBeLeftOut<Properties>]?: Static<Properties[Name]>;
      }
    : Schema extends TSchema
      ? Static<Schema>
      : never;

type Part<Name extends 'params' | 'query' | 'body', Definition> =
  Definition extends Readonly<Record<Name, infer Schema>> ? { readonly [Key in Name]: Sent<Schema> } : object;

/** What a call of this operation takes; the query may be left out where all of it has defaults. */
export type CallInput<Id extends OperationId> = Part<'params', (typeof ROUTES)[Id]> &
  Part<'body', (typeof ROUTES)[Id]> &
  Partial<Part<'query', (typeof ROUTES)[Id]>> & {
    /** `Idempotency-Key`, `Service-Request-Timeout` and others that the operation documents. */
    readonly headers?: Readonly<Record<string, string>>;
    readonly signal?: AbortSignal;
  };

export interface CallResult<Id extends OperationId> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Static<(typeof ROUTES)[Id]['success']['schema']>;
}

export interface Client {
  /** Errors  ServiceFailure for every answer that is no success; those of fetch where there is no answer */
  call<Id extends OperationId>(operationId: Id, input: CallInput<Id>): Promise<CallResult<Id>>;
}

export interface ClientOptions {
  /** Where the server is reached, without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof fetch;
}

/** An answer that is no success, whatever body it had. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';

  constructor(
    message: string,
    readonly status: number,
    /** `internal_error` for an answer that did not come from this service. */
    readonly code: RefusalCode,
    /** Whether the identical request may succeed later. */
    readonly isRetryable: boolean,
    /** Seconds to wait before that, where the server says so. */
    readonly retryAfterSeconds: number | undefined,
    readonly requestId: string | undefined,
    readonly body: string,
  ) {
    super(message);
  }
}

/**
 * A client whose operations, inputs and answers have the types of the contract. Not for streams of events.
 *
 * ```ts
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey });
 * const { body } = await client.call('homology.search', {
 *   body: { query: { kind: 'protein_sequence', sequence }, limit: 10 },
 * });
 * ```
 */
export function createClient({ baseUrl, apiKey, fetch: send = fetch }: ClientOptions): Client {
  return {
    async call(operationId, input) {
      const route: Route = ROUTES[operationId];
      const { params, query, body, headers, signal } = input as LooseInput;
      const response = await send(baseUrl + pathOf(route, params, query), {
        method: route.method,
        headers: {
          ...headers,
          Accept: route.success.mediaType ?? 'application/json',
          Authorization: `Bearer ${apiKey}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
      const text = await response.text();
      if (!response.ok) throw failureOf(response, text);
      return { status: response.status, headers: response.headers, body: JSON.parse(text) };
    },
  };
}

interface LooseInput {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

function pathOf(route: Route, params: LooseInput['params'] = {}, query: LooseInput['query'] = {}): string {
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ''),
  );
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)]));
  return search.size === 0 ? path : `${path}?${search.toString()}`;
}

function failureOf({ status, headers }: Response, text: string): ServiceFailure {
  const code = headers.get('Service-Error-Type') ?? '';
  const retryAfter = headers.get('Retry-After');
  return new ServiceFailure(
    `${status} ${code || 'without a code'}: ${messageIn(text)}`,
    status,
    isRefusalCode(code) ? code : 'internal_error',
    headers.get('Service-Retryable') === 'true',
    retryAfter === null ? undefined : Number(retryAfter),
    headers.get('X-Request-ID') ?? undefined,
    text,
  );
}

/** The sentence for a person, in whichever of the three bodies it stands. */
function messageIn(text: string): string {
  try {
    const body = JSON.parse(text) as {
      readonly detail?: string;
      readonly error?: { readonly message?: string };
    };
    return body.error?.message ?? body.detail ?? text.slice(0, 200);
  } catch {
    return text.slice(0, 200);
  }
}
