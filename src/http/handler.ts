import type { RouteInput, RouteOutput } from '../contract/grammar/route.js';
import type { OperationId, ROUTES } from '../contract/document/routes.js';
import type { RequestContext } from '../services/context.js';
import type { AnyReply } from '../services/reply.js';

/**
 * Serves one operation. Its input is valid by the contract, and tests check its reply against the contract.
 * Errors  Refusal for what the caller can act on; anything else is reported as `internal_error`
 */
export type Handler<Id extends OperationId> = (
  input: RouteInput<(typeof ROUTES)[Id]>,
  context: RequestContext,
) => Promise<AnyReply<RouteOutput<(typeof ROUTES)[Id]>>>;

type CapabilityOf<Id extends string> = Id extends `${infer Name}.${string}` ? Name : never;

/** The first word of an operation's id: `storage` of `storage.files.read`. */
export type Capability = CapabilityOf<OperationId>;

/** A handler for each operation of a capability, and for no other operation. */
export type HandlersOf<Name extends Capability> = {
  readonly [Id in Extract<OperationId, `${Name}.${string}`>]: Handler<Id>;
};

export type Handlers = HandlersOf<Capability>;
