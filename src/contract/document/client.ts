import type { Static, TObject, TOptional, TProperties, TSchema } from '@sinclair/typebox';
import { Refusal, type RefusalDetails } from '../../errors.js';
import type { ContractRefusalCode } from '../../refusal-codes.js';
import { isRefusalCode } from '../grammar/refusals.js';
import type { Route } from '../grammar/route.js';
import type { Defaulted } from '../grammar/schema.js';
import { readEvents, type ServerEvent } from './event-stream.js';
import { ROUTES, type OperationId } from './routes.js';

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

/** The body of a success; of a stream of events, the data of one of them. */
type SuccessOf<Id extends OperationId> = Static<(typeof ROUTES)[Id]['success']['schema']>;

export interface CallResult<Id extends OperationId> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: SuccessOf<Id>;
}

/** Errors  ServiceFailure for every answer that is no success; those of fetch where there is no answer */
export interface Client {
  call<Id extends OperationId>(operationId: Id, input: CallInput<Id>): Promise<CallResult<Id>>;
  /** Events as they come; ends with the stream. */
  events<Id extends OperationId>(
    operationId: Id,
    input: CallInput<Id>,
  ): AsyncGenerator<ServerEvent<SuccessOf<Id>>>;
  /** The bytes of the answer as they come. */
  bytes<Id extends OperationId>(operationId: Id, input: CallInput<Id>): AsyncGenerator<Uint8Array>;
}

export interface ClientOptions {
  /** Where the server is reached, without a slash at the end. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Default: the global fetch. */
  readonly fetch?: typeof fetch;
}

/** An answer that is no success, whatever body it had: the refusal of a server, in its own words. */
export class ServiceFailure extends Refusal {
  constructor(
    /** `internal_error` for an answer that did not come from this service. */
    override readonly code: ContractRefusalCode,
    message: string,
    details: RefusalDetails,
    readonly status: number,
    /** Whether the identical request may succeed later. */
    readonly isRetryable: boolean,
    /** Seconds to wait before that, where the server says so. */
    readonly retryAfterSeconds: number | undefined,
    readonly requestId: string | undefined,
    readonly body: string,
  ) {
    super(code, message, details);
  }
}

/**
 * A client whose operations, inputs and answers have the types of the contract.
 *
 * ```ts
 * const client = createClient({ baseUrl: 'http://127.0.0.1:8080', apiKey });
 * const { body } = await client.call('homology.search', {
 *   body: { query: { kind: 'protein_sequence', sequence }, limit: 10 },
 * });
 * ```
 */
export function createClient({ baseUrl, apiKey, fetch: send = fetch }: ClientOptions): Client {
  const ask = async (operationId: OperationId, input: LooseInput): Promise<Response> => {
    const route: Route = ROUTES[operationId];
    const { params, query, body, headers, signal } = input;
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
    if (response.ok) return response;
    throw failureOf(response, await response.text());
  };
  async function* bytes(operationId: OperationId, input: LooseInput): AsyncGenerator<Uint8Array> {
    const { body } = await ask(operationId, input);
    if (body !== null) yield* body as AsyncIterable<Uint8Array>;
  }
  return {
    async call(operationId, input) {
      const response = await ask(operationId, input);
      const { status, headers } = response;
      return { status, headers, body: (await response.json()) as never };
    },
    events: (operationId, input) => readEvents(bytes(operationId, input)),
    bytes,
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
  const { message = `The server answered with status ${status}.`, details } = wordsIn(text);
  return new ServiceFailure(
    isRefusalCode(code) ? code : 'internal_error',
    message,
    { ...details, status },
    status,
    headers.get('Service-Retryable') === 'true',
    retryAfter === null ? undefined : Number(retryAfter),
    headers.get('X-Request-ID') ?? undefined,
    text,
  );
}

/** The sentence for a person, and the facts, in whichever of the three bodies they stand. */
function wordsIn(text: string): { readonly message?: string; readonly details?: RefusalDetails } {
  try {
    const { error, detail } = JSON.parse(text) as {
      readonly detail?: string;
      readonly error?: { readonly message?: string; readonly details?: RefusalDetails };
    };
    return { message: error?.message ?? detail, details: error?.details };
  } catch {
    // Something else than a Gloaming server answered; its status is all there is to tell.
    return {};
  }
}
