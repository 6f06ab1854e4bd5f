import type { Run } from '../../contract/runs/runs.js';
import { Fault, Refusal } from '../../errors.js';
import { newId } from '../../ids.js';
import type { CommandContext } from '../terminal/command.js';

/** Speaks to a running server as any client does: over HTTP, with an API key. */
export interface RunsClient {
  /** Errors  Refusal with the code and message of the server; Fault where it cannot be reached */
  call(method: 'GET' | 'POST', path: string, options?: CallOptions): Promise<unknown>;
  /** Events as they come; ends with the stream. Errors  as call */
  events(path: string, lastEventId: string | undefined): AsyncGenerator<ServerEvent>;
  /** The bytes of a file as they come. Errors  as call */
  bytes(path: string): AsyncGenerator<Uint8Array>;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ServerEvent {
  /** Absent where the event is not kept. */
  readonly id?: string;
  readonly type: string;
  readonly data: unknown;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Errors  Refusal `missing_api_key` where the environment has none */
export function runsClient({ environment }: Pick<CommandContext, 'environment'>): RunsClient {
  const url = (environment.GLOAMING_URL ?? DEFAULT_URL).replace(/\/+$/, '');
  const key = environment.GLOAMING_API_KEY;
  if (key === undefined || key === '') {
    throw new Refusal(
      'missing_api_key',
      'GLOAMING_API_KEY must hold an API key of the server; "gloaming keys create <name>" makes one.',
    );
  }
  const send = async (
    method: string,
    path: string,
    { body, headers = {} }: CallOptions,
  ): Promise<Response> => {
    let response: Response;
    try {
      response = await fetch(url + path, {
        method,
        headers: {
          Authorization: `Bearer ${key}`,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    } catch (cause) {
      throw new Fault(`The server at ${url} cannot be reached; GLOAMING_URL names it.`, { cause });
    }
    if (response.ok) return response;
    throw refusalOf(await response.text(), response);
  };
  return {
    call: async (method, path, options = {}) => (await send(method, path, options)).json(),
    async *events(path, lastEventId) {
      const headers = {
        Accept: 'text/event-stream',
        ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
      };
      const { body } = await send('GET', path, { headers });
      if (body !== null) yield* readEvents(body);
    },
    async *bytes(path) {
      const { body } = await send('GET', path, {});
      if (body !== null) yield* body as AsyncIterable<Uint8Array>;
    },
  };
}

/** Creates a run without waiting for its end. Errors  as call */
export async function createRun(client: RunsClient, body: unknown): Promise<Run> {
  // The key makes a retry of this very submission harmless.
  const headers = { 'Idempotency-Key': newId('req'), Prefer: 'respond-async' };
  return ((await client.call('POST', '/v1/runs', { body, headers })) as { data: Run }).data;
}

/** The server's own words, whichever of its three shapes they have. */
function refusalOf(text: string, { status, headers }: Response): Refusal {
  let body: { error?: { message?: string; details?: object }; detail?: string } = {};
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Something else than a Gloaming server answered; its status is all there is to tell.
  }
  const message = body.error?.message ?? body.detail ?? `The server answered with status ${status}.`;
  return new Refusal(headers.get('Service-Error-Type') ?? 'refused', message, {
    ...body.error?.details,
    status,
  });
}

/** Source  HTML Living Standard, section 9.2.6 */
async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const fields = new Map(text.slice(0, end).split('\n').map(fieldOf));
      text = text.slice(end + 2);
      const data = fields.get('data');
      if (data === undefined) continue;
      const id = fields.get('id');
      yield {
        ...(id !== undefined && { id }),
        type: fields.get('event') ?? 'message',
        data: JSON.parse(data),
      };
    }
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).trimStart()];
}
