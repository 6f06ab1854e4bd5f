/**
 * What an API key is good for, from little to much; each has what stands before it, too.
 * search   searches, alignments, and reads what its organization has
 * submit   runs and uploads
 * manage   deletes files and says who reads them, webhooks, SQL credentials
 * admin    enters the console as the operator, who sees the system and makes keys
 */
export const KEY_SCOPES = ['search', 'submit', 'manage', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Of keys that are made without saying more: everything of the contract. */
export const USUAL_SCOPE: KeyScope = 'manage';

/** Whether a key of this scope is good for what needs the other. */
export function hasScope(scope: KeyScope, needed: KeyScope): boolean {
  return KEY_SCOPES.indexOf(scope) >= KEY_SCOPES.indexOf(needed);
}
