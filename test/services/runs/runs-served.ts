import { pino } from 'pino';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';
import { openDemoAppliance } from '../../tools/demo-appliance.js';

export type Json = Record<string, any>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** The folders of one simulated database. A server over them can be stopped and started again. */
export interface Bench {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Sequences of the database, of known length. */
  readonly sequences: readonly string[];
  readonly keys: Readonly<Record<'lab' | 'other', string>>;
  /** @param settings variables that change this server's environment */
  start(settings?: Readonly<Record<string, string>>): Promise<Serving>;
  remove(): void;
}

export interface Serving {
  readonly appliance: Appliance;
  readonly server: RunningServer;
  call(method: string, path: string, options?: CallOptions): Promise<Answer>;
  stop(): Promise<void>;
}

export interface CallOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly as?: 'lab' | 'other';
}

export async function buildBench(proteins = 300): Promise<Bench> {
  const { appliance, folder, environment, sequences, keyOf, remove } = await openDemoAppliance({
    seed: 7,
    proteins,
  });
  const keys = { lab: await keyOf('lab'), other: await keyOf('other') };
  await appliance.close();
  return {
    folder,
    environment,
    sequences,
    keys,
    start: (settings) => startServing({ ...environment, ...settings }, keys),
    remove,
  };
}

async function startServing(environment: Record<string, string>, keys: Bench['keys']): Promise<Serving> {
  const appliance = await openAppliance(loadConfig(environment));
  const server = await serve(appliance, pino({ level: 'error' }), { isResponseChecked: true });
  return {
    appliance,
    server,
    call: (method, path, options = {}) => call(server.url + path, method, keys[options.as ?? 'lab'], options),
    async stop() {
      await server.stop(1_000);
      await appliance.close();
    },
  };
}

export async function call(url: string, method: string, key: string, options: CallOptions): Promise<Answer> {
  const { body, headers = {} } = options;
  const response = await fetch(url, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Json };
}
