import type { KeyScope } from '../contract/grammar/key-scopes.js';
import type { Reply } from './reply.js';

/** Who a request speaks for. */
export interface Principal {
  readonly organizationId: string;
  /** The API key or SQL credential that was used; `local` for the command line. */
  readonly keyId: string;
  /** What the key is good for; absent where no key bounds it. */
  readonly scope?: KeyScope;
}

/**
 * A request with an Idempotency-Key. Its response is stored in the transaction that creates the resources it names.
 * After a crash, a retry therefore finds both or neither.
 */
export interface KeyedRequest {
  /** Stores the answer. Only inside the transaction of the change. */
  remember(reply: Reply<unknown>): void;
  /** The other way round: has this written in the transaction that will store the answer. */
  writeWithAnswer(write: () => void): void;
}

/** Who asks, and what ends the work. Made once per request (or command), passed down to every service call. */
export interface RequestContext extends Principal {
  readonly requestId: string;
  /** Present where the request has an Idempotency-Key. */
  readonly keyed?: KeyedRequest;
  /** Where clients reach the server, without a slash at the end; absent on the command line. */
  readonly baseUrl?: string;
  /** Aborts when the client has gone, a deadline has passed or the server is stopping. */
  readonly signal: AbortSignal;
  /** Monotonic time of arrival, in milliseconds (performance.now). */
  readonly receivedAtMs: number;
  /** Latest monotonic time at which work may start; absent = no start deadline. */
  readonly startDeadlineMs?: number;
  /** Milliseconds from arrival until work started, where the request waited in a queue. */
  readonly queueWaitMs?: number;
}

/** The answer of a change, stored where the request is keyed. Only inside the transaction of the change. */
export function remembered<Value>(reply: Reply<Value>, { keyed }: RequestContext): Reply<Value> {
  keyed?.remember(reply);
  return reply;
}
