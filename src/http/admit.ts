import type { Middleware, Principal, Shell } from './shell.js';

/** Lets the request in, or refuses it before its body is read. The place in the queue is held to the end. */
export function admit(shell: Shell): Middleware {
  return async ({ state }, next) => {
    const { keyId } = state.principal as Principal;
    shell.admission.takeRequest(keyId);
    if (state.route?.work !== 'execution') return next();
    state.place = shell.admission.takePlace(keyId);
    try {
      await next();
    } finally {
      state.place.leave();
    }
  };
}
