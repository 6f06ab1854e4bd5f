import { gunzipSync } from 'node:zlib';
import { setTimeout as wait } from 'node:timers/promises';

/* The requests of ColabFold's client, in its order and with its timeouts, but with shorter pauses. */

type Json = Readonly<Record<string, any>>;

export interface TicketRequest {
  readonly sequences: readonly string[];
  readonly mode: string;
  readonly isPaired?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Timeout of a client's request. */
const PATIENCE_MS = 6_020;
const PAUSE_MS = 40;

/** @param hostUrl called before every request, because a killed server restarts at another address */
export function colabfoldClient(hostUrl: () => string | undefined) {
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    for (;;) {
      const base = hostUrl();
      try {
        if (base !== undefined)
          return await fetch(base + path, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) });
      } catch {
        // The request timed out or its server died, so clients send it again.
      }
      await wait(PAUSE_MS);
    }
  };
  const submit = async ({
    sequences,
    mode,
    isPaired = false,
    headers = {},
  }: TicketRequest): Promise<Json> => {
    const q = sequences.map((sequence, at) => `>${101 + at}\n${sequence}\n`).join('');
    const path = isPaired ? '/ticket/pair' : '/ticket/msa';
    const response = await send(path, { method: 'POST', headers, body: new URLSearchParams({ q, mode }) });
    return (await response.json()) as Json;
  };
  const status = async (id: string, headers: TicketRequest['headers'] = {}): Promise<Json> =>
    (await (await send(`/ticket/${id}`, { headers })).json()) as Json;
  return {
    submit,
    status,
    /** Runs from the queries to the files of the archive. Errors  if the server responds ERROR or MAINTENANCE */
    async run(
      request: TicketRequest,
    ): Promise<{ readonly id: string; readonly files: ReadonlyMap<string, string> }> {
      for (;;) {
        let ticket = await submit(request);
        while (ticket.status === 'UNKNOWN' || ticket.status === 'RATELIMIT') {
          await wait(PAUSE_MS);
          ticket = await submit(request);
        }
        requireNoError(ticket);
        const { id } = ticket as { readonly id: string };
        while (['UNKNOWN', 'RUNNING', 'PENDING'].includes(ticket.status as string)) {
          await wait(PAUSE_MS);
          ticket = await status(id, request.headers);
        }
        requireNoError(ticket);
        if (ticket.status !== 'COMPLETE') continue;
        const archive = await send(`/result/download/${id}`, { headers: request.headers ?? {} });
        return { id, files: untar(gunzipSync(Buffer.from(await archive.arrayBuffer()))) };
      }
    },
  };
}

function requireNoError(answer: Json): void {
  if (answer.status === 'ERROR' || answer.status === 'MAINTENANCE')
    throw new Error(`${answer.status}: ${answer.reason}`);
}

/** Lines of each query as the client splits them: a block begins after each NUL. */
export function gather(text: string): ReadonlyMap<number, readonly string[]> {
  const lines = new Map<number, string[]>();
  let isStart = true;
  let query = NaN;
  for (const raw of text.split(/(?<=\n)/)) {
    const line = raw.replaceAll('\0', '');
    isStart ||= raw.includes('\0');
    if (line.startsWith('>') && isStart) {
      query = Number(line.slice(1));
      isStart = false;
      if (!lines.has(query)) lines.set(query, []);
    }
    if (line !== '') lines.get(query)?.push(line.trimEnd());
  }
  return lines;
}

/**
 * Templates of each query as the client reads them: one line of twelve columns for each; undefined if there is none.
 */
export function templatesOf(
  files: ReadonlyMap<string, string>,
  queryCount: number,
): readonly (readonly string[] | undefined)[] {
  const lines = files.get('pdb70.m8')!.split('\n').filter(Boolean);
  const templates = new Map<number, string[]>();
  for (const [query, template] of lines.map((line) => line.split(/\s+/)))
    templates.set(Number(query), [...(templates.get(Number(query)) ?? []), template!]);
  return Array.from({ length: queryCount }, (_, at) => templates.get(101 + at));
}

/** Content of each file of an archive. Source  POSIX.1-2001, ustar */
function untar(bytes: Buffer): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (let at = 0; bytes[at] !== 0;) {
    const name = bytes.toString('latin1', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8);
    files.set(name, bytes.toString('utf8', at + 512, at + 512 + size));
    at += 512 + 512 * Math.ceil(size / 512);
  }
  return files;
}
