import { CONTRACT_VERSION } from '../../contract/grammar/headers.js';
import { newId } from '../../ids.js';
import type { Middleware, Shell } from '../shell.js';

/** Headers of every response, also of responses that are written without Koa. */
export function commonHeaders(shell: Shell, requestId: string): Readonly<Record<string, string>> {
  return {
    'X-Request-ID': requestId,
    'Service-Version': CONTRACT_VERSION,
    'Service-Contract-Digest': shell.contractDigest,
    'X-Service-Served-From': shell.workerId,
    'X-Service-Runner-Hints': shell.workerId,
  };
}

/** Assigns the request id. An id that the client sends is only logged, because it can be forged. */
export function identify(shell: Shell): Middleware {
  return async (context, next) => {
    const { state } = context;
    state.requestId = newId('req');
    state.receivedAtMs = shell.clock.nowMs();
    state.operation = 'unknown';
    state.query = {};
    state.repeated = [];
    state.params = {};
    state.headers = {};
    state.mediaType = 'application/json';
    context.set(commonHeaders(shell, state.requestId));
    if (shell.isDraining()) context.set('Connection', 'close');
    await next();
  };
}
