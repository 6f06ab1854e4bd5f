import type { Route } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import type { Visitor } from '../../services/console/sessions.js';
import { visitorOf } from '../console/cookie.js';
import type { Principal } from '../../services/context.js';
import type { Middleware, Shell, ShellContext } from '../shell.js';
import { requireScope, scopeOf } from './scopes.js';

/**
 * Errors  Refusal `missing_api_key`, `invalid_api_key`; `permission_denied` by the key's scope; on routes of signed
 *         URLs, those of shell.authenticateUrl; on routes of SQL credentials `missing_sql_credential` and those of
 *         shell.authenticateSql
 */
export function authenticate(shell: Shell): Middleware {
  return async (context, next) => {
    if (context.state.route?.access === 'sql_credential') {
      const { username, password } = basicCredentials(context.get('Authorization'));
      context.state.principal = await shell.authenticateSql(username, password);
      return next();
    }
    if (isSigned(context)) {
      const { query, params, route } = context.state;
      context.state.principal = shell.authenticateUrl({
        method: context.method,
        path: pathOf(route as Route, params),
        params,
        query,
      });
      return next();
    }
    const authorization = context.get('Authorization');
    if (authorization === '') {
      const visitor = visitorOf(shell, context);
      if (visitor !== undefined) {
        requireOpen(visitor, context.state.route as Route);
        admitAs(visitor, context);
        return next();
      }
    }
    admitAs(principalOfKey(shell, authorization), context);
    await next();
  };
}

/** Errors  Refusal `missing_api_key`, `invalid_api_key` */
export function principalOfKey({ authenticate }: Shell, authorization: string): Principal {
  if (authorization === '') {
    throw new Refusal('missing_api_key', 'Send the header "Authorization: Bearer <API_KEY>".');
  }
  const key = /^Bearer +([\x21-\x7e]{1,512})$/i.exec(authorization)?.[1];
  if (key !== undefined) return authenticate(key);
  throw new Refusal('invalid_api_key', 'The Authorization header must read "Bearer <API_KEY>".');
}

/** Errors  Refusal `permission_denied` when the key lacks the scope of the operation */
function admitAs(principal: Principal, { state }: ShellContext): void {
  const route = state.route as Route;
  // The principal is set before the check, so that the log line of a refusal names it.
  state.principal = principal;
  requireScope(principal, scopeOf(route), route.operationId);
}

/**
 * Operations of a visitor who has not signed in, where the settings open search to the network. None of them stores
 * anything.
 */
const OPEN_OPERATIONS: ReadonlySet<string> = new Set([
  'homology.search',
  'homology.target_space_compilations.create',
  'homology.databases.list',
  'homology.databases.releases.list',
  'models.pricing.estimate',
  'receipts.get',
  'refs.resolve',
  'sequences.msa.a3m.create',
  'sequences.msa.a3m.get',
  'sequences.msa.components.create',
]);

/** Errors  Refusal `missing_api_key` */
function requireOpen({ isOpen }: Visitor, { operationId }: Route): void {
  if (!isOpen || OPEN_OPERATIONS.has(operationId)) return;
  throw new Refusal('missing_api_key', 'Visitors may search here. Sign in with an API key for this.');
}

/** Source  RFC 7617 */
function basicCredentials(authorization: string): { readonly username: string; readonly password: string } {
  const encoded = /^Basic +([A-Za-z0-9+/=]{1,1024})$/i.exec(authorization)?.[1];
  const text = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon > 0) return { username: text.slice(0, colon), password: text.slice(colon + 1) };
  throw new Refusal(
    'missing_sql_credential',
    'Send user name and password of a SQL credential by HTTP basic authentication.',
  );
}

/** A signature decides alone: a key beside it is ignored. Errors  Refusal `signature_missing` */
function isSigned({ state }: ShellContext): boolean {
  const { access = 'key' } = state.route as Route;
  const hasSignature = state.query.signature !== undefined;
  if (access !== 'signature' || hasSignature) return access !== 'key' && hasSignature;
  throw new Refusal('signature_missing', 'Ask for a signed URL and use it as it is.');
}

/** The path as it was signed, whatever percent-escapes the client wrote. */
function pathOf({ path }: Route, params: ShellContext['state']['params']): string {
  return path.replace(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(params[name] ?? ''));
}
