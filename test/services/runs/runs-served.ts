import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { openAppliance, type Appliance } from '#src/appliance.js';
import { buildDemo, DEMO_SLUG } from '#src/demo/demo.js';
import { simulateProteins } from '#src/demo/simulate.js';
import { serve, type RunningServer } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';

export type Json = Record<string, any>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A small simulated database, built once, and servers over it that can be stopped and started. */
export interface Bench {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Sequences of the database, of known length. */
  readonly sequences: readonly string[];
  readonly keys: Readonly<Record<'lab' | 'other', string>>;
  /** @param settings what this server's environment changes */
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

export async function buildBench(proteinCount = 300): Promise<Bench> {
  const folder = mkdtempSync(join(tmpdir(), 'gloaming-runs-'));
  const environment = {
    GLOAMING_INDEXES: join(folder, 'indexes'),
    GLOAMING_DATA: join(folder, 'data'),
    GLOAMING_PORT: '0',
    GLOAMING_ENCODER: 'baseline-1',
    GLOAMING_WEBHOOK_NETWORKS: '127.0.0.0/8',
  };
  const demo = simulateProteins(7, proteinCount);
  const appliance = await openAppliance(loadConfig(environment));
  const encoder = await appliance.loadEncoder('baseline-1');
  const { release } = await buildDemo(demo, encoder, appliance.config.indexesFolder);
  await encoder.close();
  const publishedAt = new Date().toISOString();
  await appliance.releases.publish({
    id: release.id,
    slug: DEMO_SLUG,
    publishedAt,
    manifest: release.manifest,
  });
  const keys = {
    lab: (await appliance.keys.create('test', 'lab')).key,
    other: (await appliance.keys.create('test', 'other')).key,
  };
  await appliance.close();
  return {
    folder,
    environment,
    sequences: demo.proteins.map(({ sequence }) => sequence),
    keys,
    start: (settings) => startServing({ ...environment, ...settings }, keys),
    remove: () => rmSync(folder, { recursive: true }),
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
