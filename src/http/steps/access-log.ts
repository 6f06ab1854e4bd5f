import type { Middleware, Shell } from '../shell.js';

/** Writes one log line and one observation a request. Keys and bodies are never logged. */
export function logRequest(shell: Shell): Middleware {
  return async (context, next) => {
    const { state } = context;
    shell.metrics.requestsInFlight.inc();
    try {
      await next();
    } finally {
      const durationMs = shell.clock.nowMs() - state.receivedAtMs;
      // A client that disconnected has no status. The log calls it 499.
      const status = state.errorCode === 'client_closed_request' ? 499 : context.status;
      shell.metrics.requestsInFlight.dec();
      shell.metrics.observeRequest(state.operation, context.method, status, durationMs / 1000);
      shell.log.info(
        {
          request_id: state.requestId,
          inbound_request_id: context.get('X-Request-ID').slice(0, 128) || undefined,
          organization_id: state.principal?.organizationId,
          key_id: state.principal?.keyId,
          operation: state.operation,
          method: context.method,
          status,
          error_code: state.errorCode,
          replay_of: state.replayOf,
          duration_ms: Math.round(durationMs * 1000) / 1000,
        },
        'request',
      );
    }
  };
}
