import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { ContractRefusalCode } from '../../refusal-codes.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Groups of operations, in the order of the documentation. */
export const TAGS = {
  homology: 'Search for distant homologs of a protein; databases, releases and filters.',
  runs: 'Background jobs, such as searches of many proteins: status, events, paged results and cancellation.',
  sequences: 'Multiple sequence alignments, built from the alignments of a search.',
  receipts: 'Records of the inputs, settings and results of computations.',
  references: 'Look-up of proteins, databases, releases, runs and files by id, accession or name.',
  storage: 'Stored files: multipart uploads, signed URLs, ACLs and deletion.',
  webhooks: 'Webhook endpoints for events, and webhook deliveries.',
  sql: 'Read-only SQL over databases and results.',
  pricing: 'Cost estimates.',
} as const;

/**
 * One operation of the contract, as data. Validation, documents, digest, routing and the types of handlers derive from
 * it. A new operation is one Route and one line in http/handlers.ts.
 */
export interface Route {
  /** `capability.verb`: the name of the handler and of `provenance.operation`. */
  readonly operationId: string;
  readonly method: Method;
  /** Path with parameters in braces: `/v1/receipts/{receipt_id}`. */
  readonly path: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** Optional request headers of this route, in addition to those of every request. */
  readonly headers?: Readonly<Record<string, TSchema>>;
  readonly body?: TSchema;
  /** A missing body counts as an empty object. */
  readonly isBodyOptional?: boolean;
  /** Bytes instead of JSON, which the handler receives as a stream. */
  readonly rawBody?: { readonly description: string; readonly maxBytes: number };
  /** Unit  bytes. Default BODY_MAX_BYTES */
  readonly bodyMaxBytes?: number;
  /** Unit  JSON values in the body. Default JSON_MAX_VALUES */
  readonly bodyMaxValues?: number;
  readonly success: {
    readonly status: number;
    readonly schema: TSchema;
    readonly description: string;
    /**
     * Default `application/json`. For a stream of events, the schema is that of one event's data. `ANY_TYPE` if each
     * served object has its own type.
     */
    readonly mediaType?: string;
    /** A second media type, of bytes, that callers may select with `Accept`. */
    readonly otherMediaType?: string;
  };
  /** Further success statuses with the same body, each with its description. */
  readonly otherSuccesses?: Readonly<Record<number, string>>;
  /** `envelope`: the handler returns the data and the shell wraps it. `bare`: the handler's value is the body. */
  readonly successStyle: 'envelope' | 'bare';
  /**
   * Accepted credentials. Default `key`: an API key. `signature`: a URL that this server signed, without key.
   * `key_or_signature`: either. `sql_credential`: a SQL credential by HTTP basic authentication.
   */
  readonly access?: 'key' | 'signature' | 'key_or_signature' | 'sql_credential';
  /**
   * Format of refusals. `envelope`: in the envelope, except that an unreadable request gets a problem body.
   * `envelope_only`: all in the envelope. `homology`: all as HomologyFailure. `problem`: all as problem bodies.
   */
  readonly errorStyle: 'envelope' | 'envelope_only' | 'homology' | 'problem';
  /** `execution`: the operation computes, and waits in the bounded queue. `light`: it only reads stored data. */
  readonly work: 'execution' | 'light';
  /**
   * Why a retry with an Idempotency-Key has no second effect, even if the server stopped before its response. Every
   * POST has one. `stored`: the response is stored in one transaction with the change. `same`: a second execution
   * finds the result of the first one, or leaves no lasting change.
   */
  readonly retry?: 'stored' | 'same';
  /** Refusals of the operation itself. Those of the shell are added for every route. */
  readonly refusals: readonly ContractRefusalCode[];
}

export function defineRoute<const Definition extends Route>(route: Definition): Definition {
  return Object.freeze(route);
}

type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;

/** Body of a request as a stream. */
export interface ByteBody {
  /** Content-Length of the client; absent in a chunked body. */
  readonly announcedBytes?: number;
  /**
   * Can be read once. A chunk is valid until the next one is requested.
   * Errors  Refusal `request_timeout` when too few bytes arrive; rejects when the client disconnects
   */
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Ends the read of the bytes with this error. No-op after its end. */
  readonly end: (error: Error) => void;
}

/** Media type of a route whose responses each have a type of their own. */
export const ANY_TYPE = '*/*';

/** Input of a handler: the validated parts of the request, with defaults filled in. */
export interface RouteInput<Definition extends Route> {
  readonly params: Definition extends { readonly params: infer Schema } ? StaticOf<Schema> : undefined;
  readonly query: Definition extends { readonly query: infer Schema } ? StaticOf<Schema> : undefined;
  readonly body: Definition extends { readonly body: infer Schema } ? StaticOf<Schema> : undefined;
  readonly rawBody: Definition extends { readonly rawBody: object } ? ByteBody : undefined;
  /** Media type of the response: one of the route's types. */
  readonly mediaType: string;
  /** Values of the headers that the route declares, by name. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

type BodyOf<Definition extends Route> = Static<Definition['success']['schema']>;
/** The shell adds the URL of the schema to a bare body that has the member `$schema`. */
type WithoutSchema<Body> = Body extends { $schema: string } ? Omit<Body, '$schema'> : Body;

/** Result of a handler: the envelope's data, or the whole body of a route without envelope. */
export type RouteOutput<Definition extends Route> = Definition['successStyle'] extends 'envelope'
  ? BodyOf<Definition> extends { data: infer Data }
    ? Data
    : never
  : WithoutSchema<BodyOf<Definition>>;
