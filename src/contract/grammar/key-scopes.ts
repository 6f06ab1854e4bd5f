/**
 * Permissions of an API key, in ascending order. Each scope includes those before it.
 * - search: searches, alignments, and reads of the organization's objects
 * - submit: runs and uploads
 * - manage: deletion and read access of files, webhooks, SQL credentials
 * - admin: the operator's view of the console, with the state of the system and the creation of keys
 */
export const KEY_SCOPES = ['search', 'submit', 'manage', 'admin'] as const;
export type KeyScope = (typeof KEY_SCOPES)[number];

/** Default scope of a new key: every operation of the contract. */
export const USUAL_SCOPE: KeyScope = 'manage';

/** Returns whether this scope includes the other one. */
export function hasScope(scope: KeyScope, needed: KeyScope): boolean {
  return KEY_SCOPES.indexOf(scope) >= KEY_SCOPES.indexOf(needed);
}
