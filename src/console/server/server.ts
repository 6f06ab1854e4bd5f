import { createClient } from '../../clients/typescript/client.js';
import { failureOf } from '../../clients/typescript/failure.js';

/** The contract, by the cookie of the session; relative to the page, which a proxy may serve below a path. */
export const gloaming = createClient({ url: '..', retries: 2 });

/** Who is signed in. */
export interface Visitor {
  readonly name: string;
  readonly organization: string;
  readonly is_operator: boolean;
  /** Nobody has signed in; the settings let such visitors search. */
  readonly is_open: boolean;
  readonly expires_at?: string;
}

/**
 * The console's own pages of the server.
 * Errors  GloamingError for every answer that is no success
 */
export async function ask<Answer>(
  method: 'GET' | 'POST' | 'DELETE',
  name: string,
  body?: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`api/${name}`, {
    method,
    headers: { Accept: 'application/json', ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  });
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as Answer;
}

export async function currentVisitor(): Promise<Visitor | null> {
  return (await ask<{ readonly visitor: Visitor | null }>('GET', 'session')).visitor;
}

/** @param credentials an API key, or the token of a link of the command line */
export async function signIn(
  credentials: { readonly key: string } | { readonly link: string },
): Promise<Visitor> {
  return (await ask<{ readonly visitor: Visitor }>('POST', 'session', credentials)).visitor;
}

export async function signOut(): Promise<void> {
  await ask('DELETE', 'session');
}
