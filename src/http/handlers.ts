import type { RouteInput, RouteOutput } from '../contract/grammar/route.js';
import type { OperationId, ROUTES } from '../contract/document/routes.js';
import type { RequestContext } from '../services/context.js';
import type { Reply } from '../services/reply.js';

/**
 * Serves one operation. Its input is valid by the contract; what it answers is checked against the contract in tests.
 * Errors  Refusal for what the caller can act on; anything else is reported as `internal_error`
 */
export type Handler<Id extends OperationId> = (
  input: RouteInput<(typeof ROUTES)[Id]>,
  context: RequestContext,
) => Promise<Reply<RouteOutput<(typeof ROUTES)[Id]>>>;

/** One handler for each operation; a public route without one fails at start. */
export type Handlers = { readonly [Id in OperationId]?: Handler<Id> };
