import type { KeyScope } from '../contract/grammar/key-scopes.js';
import type { Reply } from './reply.js';

/** The identity that a request acts for. */
export interface Principal {
  readonly organizationId: string;
  /** The API key or SQL credential of the request; `local` for the command line. */
  readonly keyId: string;
  /** Rights of the key; absent if no key restricts the request. */
  readonly scope?: KeyScope;
}

/**
 * A request with an Idempotency-Key. Its response is stored in the transaction that creates the resources it names.
 * After a crash, a retry therefore finds both or neither.
 */
export interface KeyedRequest {
  /** Stores the response. Only inside the transaction of the change. */
  remember(reply: Reply<unknown>): void;
  /** Registers a write that runs in the transaction that will store the response. */
  writeWithAnswer(write: () => void): void;
}

/** Identity and lifetime of a request. Created once per request or command, passed to every service call. */
export interface RequestContext extends Principal {
  readonly requestId: string;
  /** Present if the request has an Idempotency-Key. */
  readonly keyed?: KeyedRequest;
  /** Public address of the server, without a final slash; absent on the command line. */
  readonly baseUrl?: string;
  /** Aborts when the client has gone, a deadline has passed or the server is stopping. */
  readonly signal: AbortSignal;
  /** Monotonic time of arrival, in milliseconds (performance.now). */
  readonly receivedAtMs: number;
  /** Latest monotonic time at which work may start; absent = no start deadline. */
  readonly startDeadlineMs?: number;
  /** Milliseconds from arrival until work started, if the request waited in a queue. */
  readonly queueWaitMs?: number;
}

/**
 * Returns the response of a change, stored first if the request is keyed. Only inside the transaction of the change.
 */
export function remembered<Value>(reply: Reply<Value>, { keyed }: RequestContext): Reply<Value> {
  keyed?.remember(reply);
  return reply;
}
