import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';
import { seededRandom } from '#src/random.js';

export type Json = Record<string, any>;
export type Who = 'lab' | 'colleague' | 'rival';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A server with an empty storage; `lab` and `colleague` are keys of one organization, `rival` of another. */
export interface StorageBench {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly keys: Readonly<Record<Who, string>>;
  readonly keyIds: Readonly<Record<Who, string>>;
  readonly appliance: Appliance;
  readonly url: string;
  ask(
    who: Who,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Answer>;
  /** Initiates, puts, acknowledges and completes an upload. */
  upload(who: Who, name: string, content: Uint8Array, more?: Json): Promise<Json>;
  stop(): Promise<void>;
  restart(): Promise<void>;
  end(): Promise<void>;
}

export async function serveStorage(settings: Json = {}): Promise<StorageBench> {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-storage-'));
  const configPath = join(folder, 'appliance.json');
  writeFileSync(configPath, JSON.stringify({ storage_reserve_mib: 0, ...settings }));
  const environment = {
    GLOAMING_CONFIG: configPath,
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
  };
  let appliance: Appliance;
  let server: RunningServer;
  let isRunning = false;
  const start = async (): Promise<void> => {
    isRunning = true;
    appliance = await openAppliance(loadConfig(environment));
    server = await serve(appliance, pino({ level: 'error' }), { isResponseChecked: true });
  };
  const stop = async (): Promise<void> => {
    if (!isRunning) return;
    isRunning = false;
    await server.stop(1_000);
    await appliance.close();
  };
  await start();
  const make = (organization: string) => appliance.keys.create('test', organization);
  const made = { lab: await make('lab'), colleague: await make('lab'), rival: await make('rivals') };
  const of = <Value>(pick: (key: (typeof made)['lab']) => Value) => ({
    lab: pick(made.lab),
    colleague: pick(made.colleague),
    rival: pick(made.rival),
  });
  const bench: StorageBench = {
    folder,
    environment,
    keys: of(({ key }) => key),
    keyIds: of(({ row }) => row.id),
    get appliance() {
      return appliance;
    },
    get url() {
      return server.url;
    },
    ask: (who, method, path, body, headers) => ask(server.url + path, method, bench.keys[who], body, headers),
    async upload(who, name, content, more = {}) {
      const { id, part_count, part_size_bytes } = await initiate(bench, who, name, content.length, more);
      for (let part = 1; part <= part_count; part += 1) {
        const bytes = content.subarray((part - 1) * part_size_bytes, part * part_size_bytes);
        const put = await putPart(await partUrl(bench, who, id, part), bytes);
        if (put.status !== 200) throw new Error(JSON.stringify(put.body));
        await bench.ask(who, 'POST', `/v1/storage/uploads/${id}/parts/${part}/acknowledge`);
      }
      const done = await bench.ask(who, 'POST', `/v1/storage/uploads/${id}/complete`);
      if (done.status !== 200) throw new Error(JSON.stringify(done.body));
      return done.body.data;
    },
    stop,
    async restart() {
      await stop();
      await start();
    },
    async end() {
      await stop();
      rmSync(folder, { recursive: true });
    },
  };
  return bench;
}

export async function ask(
  url: string,
  method: string,
  key: string | undefined,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return answerOf(response);
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : (JSON.parse(text) as Json),
  };
}

export async function initiate(
  bench: StorageBench,
  who: Who,
  name: string,
  sizeBytes: number,
  more: Json = {},
): Promise<Json> {
  const answer = await bench.ask(who, 'POST', '/v1/storage/uploads', {
    file_name: name,
    size_bytes: sizeBytes,
    ...more,
  });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data;
}

export async function partUrl(
  bench: StorageBench,
  who: Who,
  uploadId: string,
  part: number,
): Promise<string> {
  const path = `/v1/storage/uploads/${uploadId}/part-urls`;
  const { body } = await bench.ask(who, 'POST', path, { part_numbers: [part] });
  return body.data.urls[0].url;
}

/** Sent without credentials, because the URL is sufficient. */
export async function putPart(
  url: string,
  bytes: Uint8Array | ReadableStream,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const init = { method: 'PUT', body: bytes, headers, duplex: 'half' };
  return answerOf(await fetch(url, init as RequestInit));
}

/** Bytes that differ by position, equal for equal seeds. */
export function bytesOf(seed: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  const random = seededRandom(seed);
  for (let at = 0; at < length; at += 1) bytes[at] = random.next();
  return bytes;
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

export function sha256Base64(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}
