import { createClient, type Client } from '../../clients/typescript/client.js';
import { Fault, Refusal } from '../../errors.js';
import type { CommandContext } from '../terminal/command.js';

const DEFAULT_URL = 'http://127.0.0.1:8080';

/**
 * Client of a running server, over HTTP with an API key.
 * Errors  Refusal `missing_api_key` when the environment has none; calls fail as those of every client, and with a
 *         Fault when the server cannot be reached
 */
export function runsClient(context: Pick<CommandContext, 'environment'>): Client {
  const { url, key } = serverOf(context);
  // A command does not retry: it fails at once when no server answers.
  const ask: typeof fetch = async (address, init) => {
    try {
      return await fetch(address, init);
    } catch (cause) {
      throw new Fault(`The server at ${url} cannot be reached; GLOAMING_URL names it.`, { cause });
    }
  };
  return createClient({ url, key, fetch: ask });
}

/** URL of the server, without a slash at the end. */
export function serverUrlOf({ environment }: Pick<CommandContext, 'environment'>): string {
  return (environment.GLOAMING_URL ?? DEFAULT_URL).replace(/\/+$/, '');
}

/** Errors  Refusal `missing_api_key` when the environment has none */
function serverOf({ environment }: Pick<CommandContext, 'environment'>): {
  readonly url: string;
  readonly key: string;
} {
  const url = serverUrlOf({ environment });
  const key = environment.GLOAMING_API_KEY;
  if (key === undefined || key === '') {
    throw new Refusal(
      'missing_api_key',
      'GLOAMING_API_KEY must hold an API key of the server; "gloaming keys create <name>" makes one.',
    );
  }
  return { url, key };
}
