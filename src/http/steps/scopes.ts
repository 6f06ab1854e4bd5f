import type { Route } from '../../contract/grammar/route.js';
import { Refusal } from '../../errors.js';
import { hasScope, KEY_SCOPES, type KeyScope } from '../../contract/grammar/key-scopes.js';
import type { Principal } from '../../services/context.js';

/** Storage operations that delete or share. They need the scope `manage`. */
const MANAGING: ReadonlySet<string> = new Set(['storage.files.delete', 'storage.files.acl.set']);

/** Returns the scope that a key needs for this operation. */
export function scopeOf({
  operationId,
  tag,
  method,
}: Pick<Route, 'operationId' | 'tag' | 'method'>): KeyScope {
  if (tag === 'webhooks' || tag === 'sql' || MANAGING.has(operationId)) return 'manage';
  return (tag === 'runs' || tag === 'storage') && method !== 'GET' ? 'submit' : 'search';
}

/** Errors  Refusal `permission_denied` when the key lacks the scope */
export function requireScope({ scope }: Principal, needed: KeyScope, operation: string): void {
  if (scope === undefined || hasScope(scope, needed)) return;
  const enough = KEY_SCOPES.filter((each) => hasScope(each, needed)).join(' or ');
  throw new Refusal(
    'permission_denied',
    `The API key has the scope ${scope}, and ${operation} needs one of ${enough}: ` +
      '"gloaming keys create --scope" makes it.',
    { required_scope: needed, scope },
  );
}
