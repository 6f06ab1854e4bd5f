import { createClient } from '../../clients/typescript/client.js';
import { failureOf } from '../../clients/typescript/failure.js';

/**
 * Client of the API, authenticated by the session cookie. The URL is relative, so that a proxy may serve the page below
 * a path.
 */
export const gloaming = createClient({ url: '..', retries: 2 });

/** The signed-in visitor. */
export interface Visitor {
  readonly name: string;
  readonly organization: string;
  readonly is_operator: boolean;
  /** True if no visitor has signed in and the settings allow searches without a key. */
  readonly is_open: boolean;
  readonly expires_at?: string;
}

/**
 * Requests one of the console's own pages from the server.
 * Errors  GloamingError for every answer that is not a success
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

/**
 * Signs in.
 * @param credentials an API key, or the token of a link that the command line printed
 */
export async function signIn(
  credentials: { readonly key: string } | { readonly link: string },
): Promise<Visitor> {
  return (await ask<{ readonly visitor: Visitor }>('POST', 'session', credentials)).visitor;
}

export async function signOut(): Promise<void> {
  await ask('DELETE', 'session');
}
