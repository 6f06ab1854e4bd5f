import type { Principal } from '../../services/context.js';
import type { Middleware, Shell } from '../shell.js';

/** Refuses a request when the server has no free slot, before any lookup or read. */
export function shed(shell: Shell): Middleware {
  return async ({ state }, next) => {
    const leave = shell.admission.enter();
    try {
      if (state.route?.work === 'execution') shell.admission.executions.requireSpace();
      await next();
    } finally {
      leave();
    }
  };
}

/**
 * Refuses a key above its rate, an organization with too many requests in progress, and work that would not fit the
 * queue, before the body is read.
 */
export function admit(shell: Shell): Middleware {
  return async ({ state }, next) => {
    const { keyId, organizationId } = state.principal as Principal;
    shell.admission.takeRequest(keyId);
    const leave = shell.admission.enterAs(organizationId);
    try {
      if (state.route?.work === 'execution') shell.admission.executions.requireRoom(keyId);
      await next();
    } finally {
      leave();
    }
  };
}
