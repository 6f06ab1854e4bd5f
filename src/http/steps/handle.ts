import { Refusal } from '../../errors.js';
import type { Route } from '../../contract/grammar/route.js';
import type { OperationId } from '../../contract/document/routes.js';
import type { Principal, RequestContext } from '../../services/context.js';
import type { AnyReply } from '../../services/reply.js';
import type { Place } from '../admission/execution-queue.js';
import { byteBody } from '../body/body.js';
import { respond } from '../body/respond.js';
import type { Middleware, Shell, ShellState } from '../shell.js';

type AnyHandler = (input: unknown, context: RequestContext) => Promise<AnyReply<unknown>>;

/** Waits for the execution slot, calls the operation's handler and writes its reply. */
export function handle(shell: Shell): Middleware {
  return async (context) => {
    const { state } = context;
    const route = state.route as Route;
    // The manifest was checked at start: every public route has a handler.
    const handler = shell.handlers[route.operationId as OperationId] as AnyHandler;
    const { keyId } = state.principal as Principal;
    const place = route.work === 'execution' ? shell.admission.executions.takePlace(keyId) : undefined;
    try {
      await waitForTurn(shell, state, place);
      const rawBody = route.rawBody && byteBody(context.req, context.res, route.rawBody.maxBytes);
      const { headers, mediaType } = state;
      const input = { ...state.input, rawBody, headers, mediaType };
      const reply = await handler(input, requestContext(shell, state));
      if (reply !== state.remembered) respond(shell, context, reply);
    } finally {
      place?.leave();
    }
  };
}

async function waitForTurn(shell: Shell, state: ShellState, place: Place | undefined): Promise<void> {
  state.signal.throwIfAborted();
  await place?.start(state.signal, state.startDeadlineMs);
  if (state.startDeadlineMs !== undefined && shell.clock.nowMs() > state.startDeadlineMs) {
    throw new Refusal('start_deadline_exceeded', 'Work could not start within Service-Request-Timeout.');
  }
}

function requestContext(shell: Shell, state: ShellState): RequestContext {
  const { keyId, organizationId } = state.principal as Principal;
  return {
    requestId: state.requestId,
    organizationId,
    keyId,
    ...(state.keyed === undefined ? {} : { keyed: state.keyed }),
    signal: state.signal,
    baseUrl: shell.baseUrl(),
    receivedAtMs: state.receivedAtMs,
    queueWaitMs: shell.clock.nowMs() - state.receivedAtMs,
    ...(state.startDeadlineMs === undefined ? {} : { startDeadlineMs: state.startDeadlineMs }),
  };
}
