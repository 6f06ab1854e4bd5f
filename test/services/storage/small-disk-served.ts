import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'vitest';
import { mountSmallDisk, SERVER, type SmallDisk } from '../../store/small-disk.js';
import { buildBench, type Bench, type Json } from '../runs/runs-served.js';
import { ask, bytesOf, putPart, sha256, type Answer } from './storage-served.js';

/** A server whose data are on a real file system that can be filled, with its requests. */
export interface DiskScene extends DiskServer {
  readonly bench: Bench;
  readonly disk: SmallDisk;
  /** Path of LMDB's file for this process. */
  readonly controlFile: string;
  readonly requestCount: number;
  readonly call: (method: string, path: string, body?: unknown, key?: string) => Promise<Answer>;
  /** Data of a response that must be a success. */
  readonly create: (method: string, path: string, body?: unknown) => Promise<Json>;
  readonly upload: (name: string, until: UploadStage) => Promise<Json>;
  readonly part: (uploadId: string) => Promise<Answer>;
  readonly readiness: () => Promise<Json>;
  readonly end: () => void;
}

interface DiskServer {
  /** Errors  if the server ends before it listens */
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Fails with the server's output if the server has ended. */
  readonly expectAlive: () => void;
  readonly url: string;
}

export type UploadStage = 'created' | 'put' | 'acknowledged' | 'completed';

const CONTENT = bytesOf(1, 70_000);

export async function serveOnSmallDisk(mebibytes: number): Promise<DiskScene> {
  const bench = await buildBench(60);
  writeFileSync(join(bench.folder, 'settings.json'), JSON.stringify({ storage_reserve_mib: 1 }));
  const disk = await mountSmallDisk(mebibytes);
  cpSync(bench.environment.GLOAMING_DATA!, join(disk.seen, 'data'), { recursive: true });
  const server = serverOn(disk, {
    ...process.env,
    ...bench.environment,
    GLOAMING_DATA: join(disk.folder, 'data'),
    GLOAMING_CONFIG: join(bench.folder, 'settings.json'),
  });
  let requestCount = 0;
  const call: DiskScene['call'] = (method, path, body, key) => {
    requestCount += 1;
    const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
    return ask(server.url + path, method, bench.keys.lab, body, headers);
  };
  const create: DiskScene['create'] = async (method, path, body) => {
    const { status, body: answer } = await call(method, path, body);
    expect({ path, status, answer: status < 300 ? '' : answer }).toEqual({ path, status, answer: '' });
    return answer.data ?? answer;
  };
  const scene: DiskScene = Object.create(server, {
    requestCount: { get: () => requestCount },
  });
  return Object.assign(scene, {
    bench,
    disk,
    controlFile: join(disk.seen, 'data', 'control', 'data.mdb'),
    call,
    create,
    upload: (name: string, until: UploadStage) => upload(scene, name, until),
    async part(uploadId: string) {
      const { urls } = await create('POST', `/v1/storage/uploads/${uploadId}/part-urls`, {
        part_numbers: [1],
      });
      requestCount += 1;
      return putPart(urls[0].url, CONTENT);
    },
    readiness: async () => (await fetch(`${server.url}/readyz`)).json() as Promise<Json>,
    end() {
      void server.kill();
      disk.end();
      bench.remove();
    },
  });
}

function serverOn(disk: SmallDisk, environment: NodeJS.ProcessEnv): DiskServer {
  let server: ChildProcess | undefined;
  let url = '';
  let errors = '';
  return {
    async start() {
      server = disk.spawn([process.execPath, SERVER], environment);
      server.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
      const ended = once(server, 'exit').then(([code, signal]) => {
        throw new Error(`The server ended (${code ?? signal}): ${errors}`);
      });
      ended.catch(() => undefined);
      const line = once(createInterface({ input: server.stdout! }), 'line');
      [url] = (await Promise.race([line, ended])) as [string];
    },
    async kill() {
      if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
      server.kill('SIGKILL');
      await once(server, 'exit');
    },
    expectAlive: () => expect(server!.exitCode ?? server!.signalCode, errors).toBe(null),
    get url() {
      return url;
    },
  };
}

async function upload(scene: DiskScene, name: string, until: UploadStage): Promise<Json> {
  const body = { file_name: name, size_bytes: CONTENT.length };
  const created = await scene.create('POST', '/v1/storage/uploads', body);
  if (until === 'created') return created;
  expect((await scene.part(created.id)).status).toBe(200);
  if (until === 'put') return created;
  await scene.create('POST', `/v1/storage/uploads/${created.id}/parts/1/acknowledge`, {});
  if (until === 'acknowledged') return created;
  return scene.create('POST', `/v1/storage/uploads/${created.id}/complete`);
}

export function queryOf({ bench }: DiskScene, index: number): Json {
  return { kind: 'protein_sequence', sequence: bench.sequences[index % bench.sequences.length] };
}

/** A search or, for several queries, a batch. */
function runOf(scene: DiskScene, index: number, queries = 1): Json {
  if (queries === 1) {
    const input = { query: queryOf(scene, index), limit: 20, evidence: 'pairwise_sequence_alignment' };
    return { endpoint: 'homology.search', background: true, input };
  }
  const batch = Array.from({ length: queries }, (_, at) => ({ sequence: queryOf(scene, at).sequence }));
  return { endpoint: 'homology.batch_search', background: true, input: { limit: 3, queries: batch } };
}

export type Furniture = Awaited<ReturnType<typeof furnish>>;

/** Objects from before the disk is full: one of every kind, and an upload in every state. */
export async function furnish(scene: DiskScene) {
  const { create, upload: up } = scene;
  const search = { query: queryOf(scene, 0), evidence: 'pairwise_sequence_alignment', limit: 10 };
  const answer = await create('POST', '/v1/homology', search);
  const endpoints: string[] = [];
  for (const at of [0, 1, 2]) {
    const body = { url: `http://127.0.0.1:9/hook/${at}`, event_types: ['file.completed'] };
    endpoints.push((await create('POST', '/v1/webhooks/endpoints', body)).id);
  }
  const credentials: Json[] = [];
  for (const name of ['first', 'second', 'reader']) {
    credentials.push(await create('POST', '/v1/sql-credentials', { name }));
  }
  const finished = await create('POST', '/v1/runs', { ...runOf(scene, 2), background: false });
  return {
    search,
    receipt: answer.receipt.id as string,
    targets: answer.candidates.map(({ target }: Json) => target.id as string) as readonly string[],
    release: answer.database.release_id as string,
    endpoints,
    credentials: credentials.map(({ sql_credential }) => sql_credential.id as string),
    login: `${credentials[2].sql_engine_user}:${credentials[2].password}`,
    finished: finished.id as string,
    kept: await up('kept.bin', 'completed'),
    gone: await up('gone.bin', 'completed'),
    delivery: (await create('GET', `/v1/webhooks/deliveries?endpoint_id=${endpoints[2]}`))[0].id as string,
    created: (await up('a.bin', 'created')).id as string,
    put: (await up('b.bin', 'put')).id as string,
    acknowledged: (await up('c.bin', 'acknowledged')).id as string,
    aborted: (await up('d.bin', 'acknowledged')).id as string,
    // Created last, so that both are unfinished when the disk is full.
    waiting: (await create('POST', '/v1/runs', runOf(scene, 0, 1_000))).id as string,
    cancelled: (await create('POST', '/v1/runs', runOf(scene, 1, 1_000))).id as string,
  };
}

type SentRequest = readonly [method: string, path: string, body?: Json];

/**
 * Every kind of request that adds an object. With free space, each succeeds.
 * @param round objects of another round are not created again
 */
export function additions(scene: DiskScene, there: Furniture, round = 0): readonly SentRequest[] {
  const filter = { op: 'gte', field: 'length', value: String(2 + round) };
  const acl = { default: 'allow', rules: [] };
  return [
    ['POST', '/v1/homology', { query: queryOf(scene, 5), limit: 5 }],
    ['POST', '/v1/homology/target-space-compilations', { DatabaseReleaseID: there.release, Filter: filter }],
    ['POST', '/v1/runs', runOf(scene, 6)],
    ['POST', '/v1/runs', runOf(scene, 7, 3)],
    [
      'POST',
      '/v1/runs',
      { endpoint: 'homology.export', background: true, input: { run_id: there.finished, format: 'tsv' } },
    ],
    ['POST', '/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/more', event_types: ['file.deleted'] }],
    ['POST', `/v1/webhooks/endpoints/${there.endpoints[0]}/rotate-secret`, {}],
    ['POST', `/v1/webhooks/deliveries/${there.delivery}/redeliver`],
    ['POST', '/v1/sql-credentials', { name: 'third' }],
    ['POST', `/v1/sql-credentials/${there.credentials[0]}/rotate`],
    ['POST', '/v1/sequences/msa/a3m', { receipt_id: there.receipt, maximum_depth: 2 + round }],
    [
      'POST',
      '/v1/sequences/msa/components',
      { receipt_id: there.receipt, target_id: there.targets[round % there.targets.length] },
    ],
    ['PUT', `/v1/storage/files/acl?url=${encodeURIComponent(new URL(there.kept.url).pathname)}`, acl],
    ['POST', '/v1/storage/uploads', { file_name: 'new.bin', size_bytes: 10_000 }],
    ['POST', `/v1/storage/uploads/${there.put}/parts/1/acknowledge`, {}],
    ['POST', `/v1/storage/uploads/${there.acknowledged}/complete`],
  ];
}

/** Sends a statement with a credential that no test changes. */
export function askSql(
  scene: DiskScene,
  { login }: Furniture,
  sql = 'SELECT count(*) FROM runs',
): Promise<Answer> {
  const headers = { Authorization: `Basic ${Buffer.from(login).toString('base64')}` };
  return ask(`${scene.url}/v1/sql/query`, 'POST', undefined, { sql }, headers);
}

/** Bytes are refused earlier, by their number, with a code of their own. */
export function expectUnavailable(path: string, { status, headers, body }: Answer): void {
  const code = headers.get('service-error-type');
  if (path.endsWith('/v1/storage/uploads') && code === 'storage_full') return;
  const shown = status === 503 ? undefined : JSON.stringify(body).slice(0, 500);
  expect({ path, status, code, shown }).toEqual({ path, status: 503, code: 'storage_unavailable' });
  expect(headers.get('service-retryable')).toBe('true');
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

/** Lists and bytes that stay readable, whatever the disk accepts. */
export async function expectServing(scene: DiskScene, there: Furniture): Promise<void> {
  const { create } = scene;
  for (const path of [
    '/v1/homology/databases',
    '/v1/runs',
    '/v1/webhooks/endpoints',
    '/v1/sql-credentials',
  ]) {
    await create('GET', path);
  }
  await create('GET', `/v1/receipts/${there.receipt}`);
  for (const upload of [there.created, there.put, there.acknowledged])
    await create('GET', `/v1/storage/uploads/${upload}`);
  const { url: file } = there.kept;
  const read = await fetch(scene.url + new URL(file).pathname, {
    headers: { Authorization: `Bearer ${scene.bench.keys.lab}` },
  });
  expect(sha256(new Uint8Array(await read.arrayBuffer()))).toBe(sha256(CONTENT));
}
