import type { Provenance, Warning } from '../contract/grammar/envelope.js';
import type { JsonPieces } from '../json/pieces.js';

/** The response of an operation: one of five types, distinguished by their members. */
export type AnyReply<Value> = Reply<Value> | WrittenReply | StreamReply | BytesReply | EmptyReply;

/**
 * A value of the contract; the response of nearly all operations. On envelope routes the value becomes `data`, and the
 * other members fill provenance and evidence. On bare routes it is the body.
 */
export interface Reply<Value> extends ReplyFacts {
  readonly value: Value;
  /** The value as JSON that is written already; not on bare routes whose body has a `$schema`. */
  readonly json?: JsonPieces;
}

/** A response whose value exists as JSON only; not on bare routes whose body has a `$schema`. */
export interface WrittenReply extends ReplyFacts {
  readonly json: JsonPieces;
}

interface ReplyFacts extends ReplyHead {
  readonly warnings?: readonly Warning[];
  readonly isCacheHit?: boolean;
  readonly databaseSnapshots?: Provenance['database_snapshots'];
  /** Ids of objects that this operation created. */
  readonly generatedObjectIds?: readonly string[];
  readonly toolVersions?: Provenance['tool_versions'];
  /** Ids of the request and the response that the operation read. */
  readonly inputRefs?: readonly string[];
  readonly objectRefs?: readonly string[];
  readonly outputRefs?: readonly string[];
  /** Number of items of a list, or of rows of a resource; default 1: a single resource. */
  readonly rowCount?: number;
  /** Present if the execution produced a chargeable final result. */
  readonly billableUnits?: number;
}

/** A body in pieces that are produced while it is read, on routes with a media type of their own. */
export interface StreamReply {
  readonly stream: AsyncIterable<string>;
}

/** Bytes with a media type of their own, on routes that serve any type or this one. */
export interface BytesReply extends ReplyHead {
  readonly bytes: ByteContent;
}

/** A status without a body: 304. */
export interface EmptyReply extends ReplyHead {
  readonly status: number;
}

/** Provenance and evidence of a value that is returned repeatedly, such as a run. */
export type Traces = Pick<
  Reply<unknown>,
  'isCacheHit' | 'databaseSnapshots' | 'toolVersions' | 'inputRefs' | 'objectRefs'
>;

interface ReplyHead {
  /** Another success status that the route declares; default: its first. */
  readonly status?: number;
  /** Further headers, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body of bytes. */
export interface ByteContent {
  readonly contentType: string;
  /** Absent if the bytes are produced while they are read. */
  readonly sizeBytes?: number;
  /** All bytes, if they are in memory. Such a response can be stored under an Idempotency-Key. */
  readonly whole?: Buffer;
  /** Called only if the bytes are needed, which excludes HEAD. */
  readonly open: () => OpenBytes;
}

export interface OpenBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Called for every piece after its last byte was sent. */
  readonly release?: (piece: Uint8Array) => void;
  /** Called when the reader has finished, complete or not. */
  readonly close: () => void;
}
