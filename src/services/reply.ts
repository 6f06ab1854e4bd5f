import type { Provenance, Warning } from '../contract/grammar/envelope.js';
import type { JsonPieces } from '../json/pieces.js';

/** What an operation may answer with: one of five, told apart by what they carry. */
export type AnyReply<Value> = Reply<Value> | WrittenReply | StreamReply | BytesReply | EmptyReply;

/**
 * A value of the contract, as nearly all operations answer. On envelope routes it becomes `data`, and what stands
 * beside it fills provenance and evidence; on bare routes it is the body.
 */
export interface Reply<Value> extends ReplyFacts {
  readonly value: Value;
  /** The value as JSON, where it was written already; only on bare routes whose body has no `$schema`. */
  readonly json?: JsonPieces;
}

/** The same of a value that came as JSON and is not built here; not on bare routes whose body has a `$schema`. */
export interface WrittenReply extends ReplyFacts {
  readonly json: JsonPieces;
}

interface ReplyFacts extends ReplyHead {
  readonly warnings?: readonly Warning[];
  readonly isCacheHit?: boolean;
  readonly databaseSnapshots?: Provenance['database_snapshots'];
  /** Ids of what this operation brought into being. */
  readonly generatedObjectIds?: readonly string[];
  readonly toolVersions?: Provenance['tool_versions'];
  /** Ids that the request named, that were read to answer, and that the answer names. */
  readonly inputRefs?: readonly string[];
  readonly objectRefs?: readonly string[];
  readonly outputRefs?: readonly string[];
  /** Of the list, or of the rows that the resource stands for; default 1: a single resource. */
  readonly rowCount?: number;
  /** Present when execution produced a chargeable terminal result. */
  readonly billableUnits?: number;
}

/** Pieces of a body that grows while it is read, on routes with a media type of their own. */
export interface StreamReply {
  readonly stream: AsyncIterable<string>;
}

/** Bytes of a type of their own, on routes that serve any or that type. */
export interface BytesReply extends ReplyHead {
  readonly bytes: ByteContent;
}

/** A status that says all there is to say: 304. */
export interface EmptyReply extends ReplyHead {
  readonly status: number;
}

/** What provenance and evidence tell of a value that is answered with again and again, such as a run. */
export type Traces = Pick<
  Reply<unknown>,
  'isCacheHit' | 'databaseSnapshots' | 'toolVersions' | 'inputRefs' | 'objectRefs'
>;

interface ReplyHead {
  /** Another status of success that the route declares; default: its first. */
  readonly status?: number;
  /** Further headers, such as `Location`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body of bytes. */
export interface ByteContent {
  readonly contentType: string;
  /** Absent where the bytes are made while they are read. */
  readonly sizeBytes?: number;
  /** All of them, where they are there already: such an answer can be kept under an Idempotency-Key. */
  readonly whole?: Buffer;
  /** Called only where the bytes are wanted: not for HEAD. */
  readonly open: () => OpenBytes;
}

export interface OpenBytes {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** Told of every piece when the last byte of it has gone out. */
  readonly release?: (piece: Uint8Array) => void;
  /** Called when nothing more will be read, whether all was or not. */
  readonly close: () => void;
}
