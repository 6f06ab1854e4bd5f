import type { RefusalCode } from './refusal-codes.js';

/**
 * The caller asked for something that cannot be done and can act on it.
 * The message says what was expected, what came and what to do; contract/grammar/refusals.ts gives the status and type
 * of each code that is told over the network.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly code: RefusalCode,
    message: string,
    /** Machine-readable facts about this refusal; `errors` lists every place that is wrong. */
    readonly details: RefusalDetails = {},
  ) {
    super(message);
  }
}

export interface RefusalDetails {
  readonly [fact: string]: unknown;
  /** The request member at fault, as a dotted path such as `filter.filters[2].op`. */
  readonly param?: string;
  readonly errors?: readonly RefusalLocation[];
  /** Whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds?: number;
}

export interface RefusalLocation {
  /** Where in the request: `body.filter.filters[2].op`. */
  readonly location: string;
  readonly message: string;
  readonly value?: unknown;
}

/** Disk, device or peer failed. The client sees a plain 500 with its request id; the log has the chain of causes. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

/** States what must hold here; its failure is our bug, and the message says why it must hold. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${why}`);
}
