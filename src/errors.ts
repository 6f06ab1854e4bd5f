import { placeText, type RefusalLocation } from './places.js';
import type { RefusalCode } from './refusal-codes.js';

/**
 * The request cannot be satisfied, and the caller can act on the refusal. The message says what was expected, what came
 * and what to do. contract/grammar/refusals.ts has status and type of each code that the network sees.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';

  constructor(
    readonly code: RefusalCode,
    message: string,
    /** Machine-readable facts about this refusal. `errors` lists every invalid place. */
    readonly details: RefusalDetails = {},
  ) {
    super(message);
  }
}

export interface RefusalDetails {
  readonly [fact: string]: unknown;
  /** The invalid member of the request, as a dotted path such as `filter.filters[2].op`. */
  readonly param?: string;
  readonly errors?: readonly RefusalLocation[];
  /** Whole seconds after which the same request may succeed. */
  readonly retryAfterSeconds?: number;
}

/** Prefixes the paths of a refusal with the member that holds the refused value. */
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

/** Asserts an invariant. Its failure is a bug of this program, and the message says why it must hold. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`Assertion failed: ${why}`);
}

/** Returns a handler of rejections: the value where a file or folder does not exist; it throws all other causes. */
export function ifAbsent<Value>(value: Value): (cause: NodeJS.ErrnoException) => Value {
  return (cause) => {
    if (cause.code === 'ENOENT') return value;
    throw cause;
  };
}
