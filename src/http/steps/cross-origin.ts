import {
  COMMON_RESPONSE_HEADERS,
  FAILURE_RESPONSE_HEADERS,
  STATUS_RESPONSE_HEADERS,
  SUCCESS_RESPONSE_HEADERS,
} from '../../contract/grammar/headers.js';
import { headerSchemas } from '../../contract/document/routes.js';
import type { Middleware, Shell } from '../shell.js';

/** Paths open to other origins: the contract, its document, and the client that speaks it. */
const SHARED_PATHS = ['/v1/', '/openapi.json', '/client/typescript/'];

/** Lifetime of a preflight answer in browsers. */
const PREFLIGHT_MAX_AGE_SECONDS = 600;

/** Headers of successes beside those that the contract gives every operation. */
const OTHER_RESPONSE_HEADERS = ['Content-Disposition', 'ETag', 'Link', 'Location', 'Preference-Applied'];

/**
 * Lets pages of the configured origins use the contract from a browser with an API key, as any program does. A cookie
 * never counts, so that no visitor's session is lent to them. Other paths stay unreadable to them. Without configured
 * origins, all paths do.
 * Source  Fetch Standard, section 3.3
 */
export function shareAcrossOrigins(shell: Shell): Middleware {
  const origins = new Set(shell.sharedOrigins);
  if (origins.size === 0) return (_context, next) => next();
  const preflight = preflightHeaders(shell);
  const exposed = exposedHeaders();
  return async (context, next) => {
    const { url = '', headers, method } = context.req;
    if (SHARED_PATHS.some((path) => url.startsWith(path))) {
      context.vary('Origin');
      if (headers.origin !== undefined && origins.has(headers.origin)) {
        const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
        context.set('Access-Control-Allow-Origin', headers.origin);
        context.set(isPreflight ? preflight : exposed);
      }
    }
    await next();
  };
}

/**
 * Headers of a preflight answer, the same for every path. A method that a path lacks is refused by the request itself.
 */
function preflightHeaders({ routes }: Shell): Record<string, string> {
  const named = routes.flatMap((route) => Object.keys(headerSchemas(route)));
  return {
    'Access-Control-Allow-Methods': [...new Set(routes.map(({ method }) => method))].sort().join(', '),
    'Access-Control-Allow-Headers': [...new Set(['Authorization', 'Content-Type', ...named])].join(', '),
    'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_SECONDS),
  };
}

function exposedHeaders(): Record<string, string> {
  const ofContract = [
    COMMON_RESPONSE_HEADERS,
    SUCCESS_RESPONSE_HEADERS,
    FAILURE_RESPONSE_HEADERS,
    ...Object.values(STATUS_RESPONSE_HEADERS),
  ].flatMap((headers) => Object.keys(headers));
  const names = new Set([...ofContract, ...OTHER_RESPONSE_HEADERS]);
  return { 'Access-Control-Expose-Headers': [...names].join(', ') };
}
