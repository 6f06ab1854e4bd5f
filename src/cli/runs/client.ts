import { createClient, type CallInput, type Client } from '../../contract/document/client.js';
import type { Run } from '../../contract/runs/runs.js';
import { Fault, Refusal } from '../../errors.js';
import { newId } from '../../ids.js';
import type { CommandContext } from '../terminal/command.js';

/** The server judges it: members with defaults are left out, and a request may come from a file. */
type RunBody = CallInput<'runs.create'>['body'];

const DEFAULT_URL = 'http://127.0.0.1:8080';

/**
 * Speaks to a running server as any client does: over HTTP, with an API key.
 * Errors  Refusal `missing_api_key` where the environment has none; calls fail as those of every client, and with a
 *         Fault where the server cannot be reached
 */
export function runsClient(context: Pick<CommandContext, 'environment'>): Client {
  const { baseUrl, apiKey } = serverOf(context);
  const send: typeof fetch = async (url, init) => {
    try {
      return await fetch(url, init);
    } catch (cause) {
      throw new Fault(`The server at ${baseUrl} cannot be reached; GLOAMING_URL names it.`, { cause });
    }
  };
  return createClient({ baseUrl, apiKey, fetch: send });
}

/** Errors  Refusal `missing_api_key` where the environment has none */
export function serverOf({ environment }: Pick<CommandContext, 'environment'>): {
  readonly baseUrl: string;
  readonly apiKey: string;
} {
  const baseUrl = (environment.GLOAMING_URL ?? DEFAULT_URL).replace(/\/+$/, '');
  const apiKey = environment.GLOAMING_API_KEY;
  if (apiKey === undefined || apiKey === '') {
    throw new Refusal(
      'missing_api_key',
      'GLOAMING_API_KEY must hold an API key of the server; "gloaming keys create <name>" makes one.',
    );
  }
  return { baseUrl, apiKey };
}

/** Creates a run without waiting for its end. Errors  as any call */
export async function createRun(client: Client, body: unknown): Promise<Run> {
  // The key makes a retry of this very submission harmless.
  const headers = { 'Idempotency-Key': newId('req'), Prefer: 'respond-async' };
  const created = await client.call('runs.create', { body: body as RunBody, headers });
  return created.body.data;
}
