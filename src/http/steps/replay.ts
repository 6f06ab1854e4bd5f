import { canonicalSha256 } from '../../canonical.js';
import type { Route } from '../../contract/grammar/route.js';
import { assert } from '../../errors.js';
import type { StoredResponse } from '../../store/tables/idempotency.js';
import { isStorageUnavailable } from '../../store/unavailable.js';
import type { Principal } from '../../services/context.js';
import { respond } from '../body/respond.js';
import type { Middleware, Shell, ShellContext, ShellState } from '../shell.js';

/** Headers that belong to the connection, the moment and the page that asks, not to the stored response. */
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
 * Keeps the promise of `Idempotency-Key`: one execution, and its response again for the same request.
 * A response is durable before it is sent; only successes are kept, because a refusal has done nothing. What an
 * operation changes is durable with its response, never before: the operation has it rendered and stored within its
 * own transaction, or has its change written in the one that stores the response.
 * Errors  Refusal `idempotency_key_reused`, `idempotency_key_in_use`, `idempotency_storage_full`
 */
export function replay(shell: Shell): Middleware {
  return async (context, next) => {
    const { state } = context;
    const key = state.headers['Idempotency-Key'];
    if (key === undefined) return next();
    const { organizationId } = state.principal as Principal;
    const route = state.route as Route;
    const scope = canonicalSha256([organizationId, route.operationId, key]);
    const request = { key, scope, fingerprint: fingerprint(state) };
    const claim = await shell.idempotency.claim(request, shell.clock.now());
    if (claim.stored !== undefined) return sendStored(context, claim.stored);
    let kept: string | undefined;
    const writes: (() => void)[] = [];
    state.keyed = {
      remember(reply) {
        respond(shell, context, reply);
        const response = responseOf(context);
        claim.put(response, shell.clock.now());
        state.remembered = reply;
        kept = response.body;
      },
      writeWithAnswer: (write) => void writes.push(write),
    };
    try {
      await next();
      const isJoined = kept !== undefined || writes.length > 0;
      if (shell.isResponseChecked && route.retry === 'stored') {
        assert(isJoined, `${route.operationId} must store its answer and its change together`);
      }
      // Bytes that are made while they are read are gone when they have been read; no keyed request is answered so.
      const isWhole = typeof context.body === 'string' || Buffer.isBuffer(context.body);
      if (!isWhole || (context.body === kept && writes.length === 0)) return;
      await claim
        .keep(responseOf(context), shell.clock.now(), () => writes.forEach((write) => write()))
        .catch((error: unknown) => {
          if (!isAnsweredUnkept(route, writes, error)) throw error;
        });
    } finally {
      claim.release();
    }
  };
}

/**
 * Where the disk takes nothing, what finds its own result when it is executed again is answered all the same: what it
 * did (a cancellation) is durable, and a client that was told of a failure would be told something false.
 */
function isAnsweredUnkept(route: Route, writes: readonly unknown[], error: unknown): boolean {
  return route.retry === 'same' && writes.length === 0 && isStorageUnavailable(error);
}

/** What makes two requests the same: path, query, body as sent and the contract that was relied on. */
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
  const kept = { status: context.status, headers: Object.fromEntries(headers) };
  return Buffer.isBuffer(context.body)
    ? { ...kept, body: context.body.toString('base64'), encoding: 'base64' }
    : { ...kept, body: String(context.body) };
}

/** The first response, byte for byte, with its own X-Request-ID. */
function sendStored(context: ShellContext, stored: StoredResponse): void {
  context.status = stored.status;
  context.set(stored.headers);
  context.set('Idempotent-Replayed', 'true');
  context.body = stored.encoding === undefined ? stored.body : Buffer.from(stored.body, stored.encoding);
  context.state.replayOf = stored.headers['x-request-id'];
}
