import type { Static, TObject, TSchema } from '@sinclair/typebox';
import type { ContractRefusalCode } from '../../refusal-codes.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** Groups of operations, in the order of the documentation. */
export const TAGS = {
  homology: 'Search for distant relatives of a protein; databases, releases and filters.',
  runs: 'Searches and other work that is kept, resumed, paged and watched.',
  sequences: 'Multiple sequence alignments from what a search has aligned.',
  receipts: 'What was computed from what.',
  references: 'Proteins, databases, releases, runs and files by id, accession or name.',
  storage: 'Files: uploads in parts, signed URLs, access, deletion.',
  webhooks: 'Who is told of what has happened, and every delivery.',
  sql: 'Read-only SQL over databases and results.',
  pricing: 'What calls would cost.',
} as const;

/**
 * One operation of the contract, as data. Validation, documents, digest, routing and handlers' types come from it.
 * A new operation is one of these and one line in http/handlers/.
 */
export interface Route {
  /** `capability.verb`; the name of the handler and of `provenance.operation`. */
  readonly operationId: string;
  readonly method: Method;
  /** Parameters in braces: `/v1/receipts/{receipt_id}`. */
  readonly path: string;
  readonly tag: keyof typeof TAGS;
  readonly summary: string;
  readonly description: string;
  readonly params?: TObject;
  readonly query?: TObject;
  /** Request headers that mean something here, besides those of every request; all optional. */
  readonly headers?: Readonly<Record<string, TSchema>>;
  readonly body?: TSchema;
  /** A request without body is taken as one with an empty object. */
  readonly isBodyOptional?: boolean;
  /** Bytes instead of JSON, given to the handler as they come. */
  readonly rawBody?: { readonly description: string; readonly maxBytes: number };
  /** Bytes; default BODY_MAX_BYTES. */
  readonly bodyMaxBytes?: number;
  /** JSON values of the body; default JSON_MAX_VALUES. */
  readonly bodyMaxValues?: number;
  readonly success: {
    readonly status: number;
    readonly schema: TSchema;
    readonly description: string;
    /**
     * Default `application/json`; of a stream of events, the schema is that of one event's data; `ANY_TYPE` where
     * what is served has a type of its own.
     */
    readonly mediaType?: string;
    /** A second type, of bytes, that callers may ask for by `Accept`. */
    readonly otherMediaType?: string;
  };
  /** Further statuses of success with the same body, each with its description. */
  readonly otherSuccesses?: Readonly<Record<number, string>>;
  /** `envelope`: the handler gives the data and the shell wraps it; `bare`: the handler's value is the body. */
  readonly successStyle: 'envelope' | 'bare';
  /**
   * Who may ask. Default `key`: holders of an API key; `signature`: holders of a URL that this server signed, without
   * key; `key_or_signature`: either; `sql_credential`: holders of a SQL credential, by HTTP basic authentication.
   */
  readonly access?: 'key' | 'signature' | 'key_or_signature' | 'sql_credential';
  /**
   * What refusals look like. `envelope`: in the envelope, but a request that could not be read is a problem body;
   * `envelope_only`: all in the envelope; `homology`: all as HomologyFailure; `problem`: all as problem bodies.
   */
  readonly errorStyle: 'envelope' | 'envelope_only' | 'homology' | 'problem';
  /** `execution`: the operation computes, and waits in the bounded queue; `light`: it looks something up. */
  readonly work: 'execution' | 'light';
  /**
   * Why a retry under an Idempotency-Key does nothing twice, even where the server died before it could answer; every
   * POST has one. `stored`: the answer is stored in one transaction with the change. `same`: executing again finds
   * what was made, or makes nothing that stays.
   */
  readonly retry?: 'stored' | 'same';
  /** Refusals of the operation itself; those of the shell are added for every route. */
  readonly refusals: readonly ContractRefusalCode[];
}

export function defineRoute<const Definition extends Route>(route: Definition): Definition {
  return Object.freeze(route);
}

type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined;

/** Body of a request as it comes. */
export interface ByteBody {
  /** As the client announced it; absent in a body of chunks. */
  readonly announcedBytes?: number;
  /**
   * To be read once; a piece is good until the next is asked for.
   * Errors  Refusal `request_timeout` where nothing comes any more; rejects when the client goes
   */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Media type of routes whose answers have types of their own. */
export const ANY_TYPE = '*/*';

/** What a handler is given: parts of the request after validation, defaults filled in. */
export interface RouteInput<Definition extends Route> {
  readonly params: Definition extends { readonly params: infer Schema } ? StaticOf<Schema> : undefined;
  readonly query: Definition extends { readonly query: infer Schema } ? StaticOf<Schema> : undefined;
  readonly body: Definition extends { readonly body: infer Schema } ? StaticOf<Schema> : undefined;
  readonly rawBody: Definition extends { readonly rawBody: object } ? ByteBody : undefined;
  /** The type that the answer shall have, of those that the route has. */
  readonly mediaType: string;
  /** Header values by the names that the route declares. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

type BodyOf<Definition extends Route> = Static<Definition['success']['schema']>;
/** The shell knows the address of the schemas, and adds it where a bare body has one. */
type WithoutSchema<Body> = Body extends { $schema: string } ? Omit<Body, '$schema'> : Body;

/** What a handler answers with: the envelope's data, or the whole body of a route without envelope. */
export type RouteOutput<Definition extends Route> = Definition['successStyle'] extends 'envelope'
  ? BodyOf<Definition> extends { data: infer Data }
    ? Data
    : never
  : WithoutSchema<BodyOf<Definition>>;
