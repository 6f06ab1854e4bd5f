import { canonicalSha256 } from '../../canonical.js';
import type { Route } from '../../contract/grammar/route.js';
import { assert } from '../../errors.js';
import { OPEN_ORGANIZATION } from '../../limits.js';
import type { StoredResponse } from '../../store/tables/idempotency.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import type { Principal } from '../../services/context.js';
import { respond } from '../body/respond.js';
import type { Middleware, Shell, ShellContext, ShellState } from '../shell.js';

/** Headers of the connection, the moment or the requesting page. They are not part of the stored response. */
const NOT_STORED = new Set([
  'access-control-allow-origin',
  'access-control-expose-headers',
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
]);

/**
 * Implements `Idempotency-Key`: one execution, and its response again for the same request.
 * A response is durable before it is sent. Only successes are stored, because a refusal changes nothing. A change is
 * durable together with its response, never before. The operation stores both in its own transaction, or hands its
 * change to the transaction that stores the response.
 * Errors  Refusal `idempotency_key_reused`, `idempotency_key_in_use`, `idempotency_storage_full`
 */
export function replay(shell: Shell): Middleware {
  return async (context, next) => {
    const { state } = context;
    const key = state.headers['Idempotency-Key'];
    const { organizationId } = state.principal as Principal;
    // Visitors without a key could fill the store of responses, which all organizations share. They change nothing.
    if (key === undefined || organizationId === OPEN_ORGANIZATION) return next();
    const route = state.route as Route;
    const scope = canonicalSha256([organizationId, route.operationId, key]);
    const request = { organizationId, key, scope, fingerprint: fingerprint(state) };
    const claim = await shell.idempotency.claim(request, shell.clock.now());
    if (claim.stored !== undefined) return sendStored(context, claim.stored);
    let storedBody: string | undefined;
    const writes: (() => void)[] = [];
    state.keyed = {
      remember(reply) {
        respond(shell, context, reply);
        const response = responseOf(context);
        claim.put(response, shell.clock.now());
        state.remembered = reply;
        storedBody = response.body;
      },
      writeWithAnswer: (write) => void writes.push(write),
    };
    try {
      await next();
      const isJoined = storedBody !== undefined || writes.length > 0;
      if (shell.isResponseChecked && route.retry === 'stored') {
        assert(isJoined, `${route.operationId} must store its answer and its change together`);
      }
      // Bytes that are produced while they are sent cannot be stored. No request with a key is answered by such
      // bytes.
      const isWhole = typeof context.body === 'string' || Buffer.isBuffer(context.body);
      if (!isWhole || (context.body === storedBody && writes.length === 0)) return;
      await claim
        .persist(responseOf(context), shell.clock.now(), () => writes.forEach((write) => write()))
        .catch((error: unknown) => {
          if (!isAnsweredUnkept(route, writes, error)) throw error;
        });
    } finally {
      claim.release();
    }
  };
}

/**
 * Returns whether a reply may be sent although it could not be stored. An operation that finds its own result on a
 * retry may: its change (a cancellation) is durable, and a failure would be a false report.
 */
function isAnsweredUnkept(route: Route, writes: readonly unknown[], error: unknown): boolean {
  return route.retry === 'same' && writes.length === 0 && isStorageUnavailable(error);
}

/** Identity of a request: path, query, body as sent, and contract version. */
function fingerprint(state: ShellState): string {
  return canonicalSha256({
    path: state.params,
    query: state.query,
    body_sha256: state.inputHash,
    pin: state.headers['Service-Contract-Pin'] ?? null,
    ...(state.mediaType !== 'application/json' && { media_type: state.mediaType }),
  });
}

function responseOf(context: ShellContext): StoredResponse {
  const headers = Object.entries(context.response.headers)
    .filter(([name, value]) => !NOT_STORED.has(name) && typeof value === 'string')
    .map(([name, value]) => [name, String(value)] as const);
  const response = { status: context.status, headers: Object.fromEntries(headers) };
  return Buffer.isBuffer(context.body)
    ? { ...response, body: context.body.toString('base64'), encoding: 'base64' }
    : { ...response, body: String(context.body) };
}

/** Sends the first response, byte for byte, with its own X-Request-ID. */
function sendStored(context: ShellContext, stored: StoredResponse): void {
  context.status = stored.status;
  context.set(stored.headers);
  context.set('Idempotent-Replayed', 'true');
  context.body = stored.encoding === undefined ? stored.body : Buffer.from(stored.body, stored.encoding);
  context.state.replayOf = stored.headers['x-request-id'];
}
