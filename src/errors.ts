import { placeText, type RefusalLocation } from './places.js';
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

/** The same refusal of something that the request holds inside of this member. */
export function refusalInside({ code, message, details }: Refusal, member: string): Refusal {
  const { param, errors, ...facts } = details;
  return new Refusal(code, message, {
    ...facts,
    ...(param !== undefined && { param: `${member}.${param}` }),
    ...(errors && { errors: errors.map((error) => locationInside(error, member)) }),
  });
}

function locationInside(error: RefusalLocation, member: string): RefusalLocation {
  if (error.place === undefined) return error;
  const [part, ...rest] = error.place;
  const place = [part, member, ...rest];
  return { ...error, place, location: placeText(place) };
}

/** Disk, device or peer failed. The client sees a plain 500 with its request id; the log has the chain of causes. */
export class Fault extends Error {
  override readonly name = 'Fault';
}

/** States what must hold here; its failure is our bug, and the message says why it must hold. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${why}`);
}
