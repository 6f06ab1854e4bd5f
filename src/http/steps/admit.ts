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

/** Refuses a key above its rate, and work that would not fit the queue, before the body is read. */
export function admit(shell: Shell): Middleware {
  return async ({ state }, next) => {
    const { keyId } = state.principal as Principal;
    shell.admission.takeRequest(keyId);
    if (state.route?.work === 'execution') shell.admission.executions.requireRoom(keyId);
    await next();
  };
}
