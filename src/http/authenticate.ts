import { Refusal } from '../errors.js';
import type { Middleware, Shell } from './shell.js';

/** Errors  Refusal `missing_api_key`, `invalid_api_key` */
export function authenticate(shell: Shell): Middleware {
  return async (context, next) => {
    const authorization = context.get('Authorization');
    if (authorization === '') {
      throw new Refusal('missing_api_key', 'Send the header "Authorization: Bearer <API_KEY>".');
    }
    const key = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
    if (key === undefined) {
      throw new Refusal('invalid_api_key', 'The Authorization header must read "Bearer <API_KEY>".');
    }
    context.state.principal = shell.authenticate(key);
    await next();
  };
}
