import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON } from '../../tools/expectations.js';
import { CAN_MOUNT, cutReserve, mountSmallDisk, SERVER, type SmallDisk } from '../../store/small-disk.js';
import { buildBench, type Bench, type Json } from '../runs/runs-served.js';
import { ask, bytesOf, putPart, sha256, type Answer } from './storage-served.js';

/* A server on a real file system that fills up under it, and every kind of request that writes. */

const DISK_MIB = 48;
const LEFT_BYTES = 4 << 20;

let bench: Bench;
let disk: SmallDisk;
let server: ChildProcess | undefined;
let url = '';
let errors = '';
let requestCount = 0;

beforeAll(async () => {
  if (!CAN_MOUNT) return;
  bench = await buildBench(60);
  writeFileSync(join(bench.folder, 'settings.json'), JSON.stringify({ storage_reserve_mib: 1 }));
  disk = await mountSmallDisk(DISK_MIB);
  cpSync(bench.environment.GLOAMING_DATA!, join(disk.seen, 'data'), { recursive: true });
}, 120_000);
afterAll(async () => {
  server?.kill('SIGKILL');
  disk?.end();
  bench?.remove();
});

async function start(): Promise<void> {
  const environment = {
    ...process.env,
    ...bench.environment,
    GLOAMING_DATA: join(disk.folder, 'data'),
    GLOAMING_CONFIG: join(bench.folder, 'settings.json'),
  };
  server = disk.spawn([process.execPath, SERVER], environment);
  server.stderr!.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = once(server, 'exit').then(([code, signal]) => {
    throw new Error(`The server ended (${code ?? signal}): ${errors}`);
  });
  ended.catch(() => undefined);
  [url] = (await Promise.race([once(createInterface({ input: server.stdout! }), 'line'), ended])) as [string];
}

async function stop(): Promise<void> {
  server!.kill('SIGKILL');
  await once(server!, 'exit');
}

const controlFile = (): string => join(disk.seen, 'data', 'control', 'data.mdb');

function call(method: string, path: string, body?: unknown, key?: string): Promise<Answer> {
  requestCount += 1;
  const headers: Record<string, string> = key === undefined ? {} : { 'Idempotency-Key': key };
  return ask(url + path, method, bench.keys.lab, body, headers);
}

async function made(method: string, path: string, body?: unknown): Promise<Json> {
  const { status, body: answer } = await call(method, path, body);
  expect({ path, status, answer: status < 300 ? '' : answer }).toEqual({ path, status, answer: '' });
  return answer.data ?? answer;
}

const content = bytesOf(1, 70_000);

async function upload(name: string, until: 'created' | 'put' | 'acknowledged' | 'completed'): Promise<Json> {
  const created = await made('POST', '/v1/storage/uploads', { file_name: name, size_bytes: content.length });
  if (until === 'created') return created;
  const { urls } = await made('POST', `/v1/storage/uploads/${created.id}/part-urls`, { part_numbers: [1] });
  expect((await putPart(urls[0].url, content)).status).toBe(200);
  if (until === 'put') return created;
  await made('POST', `/v1/storage/uploads/${created.id}/parts/1/acknowledge`, {});
  return until === 'acknowledged' ? created : made('POST', `/v1/storage/uploads/${created.id}/complete`);
}

const query = (index: number) => ({ kind: 'protein_sequence', sequence: bench.sequences[index % 60] });
const runOf = (index: number, queries = 1) =>
  queries === 1
    ? { endpoint: 'homology.search', input: { query: query(index), limit: 20 } }
    : {
        endpoint: 'homology.batch_search',
        input: {
          limit: 3,
          queries: Array.from({ length: queries }, (_, at) => ({ sequence: query(at).sequence })),
        },
      };
const background = (body: Json): Json => ({ ...body, background: true });

/** What there is before the disk fills. */
async function furnish() {
  const found = await made('POST', '/v1/homology', {
    query: query(0),
    evidence: 'pairwise_sequence_alignment',
    limit: 10,
  });
  const endpoints = [];
  for (const at of [0, 1, 2]) {
    const body = { url: `http://127.0.0.1:9/hook/${at}`, event_types: ['file.completed'] };
    endpoints.push((await made('POST', '/v1/webhooks/endpoints', body)).id);
  }
  const credentials = [];
  for (const name of ['first', 'second']) {
    credentials.push((await made('POST', '/v1/sql-credentials', { name })).sql_credential.id as string);
  }
  return {
    receipt: found.receipt.id as string,
    release: found.database.release_id as string,
    endpoints: endpoints as string[],
    credentials,
    kept: await upload('kept.bin', 'completed'),
    gone: await upload('gone.bin', 'completed'),
    created: (await upload('a.bin', 'created')).id as string,
    put: (await upload('b.bin', 'put')).id as string,
    acknowledged: (await upload('c.bin', 'acknowledged')).id as string,
    aborted: (await upload('d.bin', 'acknowledged')).id as string,
    // At the end, so that both are unfinished when the server is killed.
    waiting: (await made('POST', '/v1/runs', background(runOf(0, 1_000)))).id as string,
    cancelled: (await made('POST', '/v1/runs', background(runOf(1, 1_000)))).id as string,
  };
}

type Furniture = Awaited<ReturnType<typeof furnish>>;

/** Every kind of request that adds something; what each is answered with where there is room. */
function additions(there: Furniture): readonly (readonly [method: string, path: string, body?: Json])[] {
  return [
    ['POST', '/v1/homology', { query: query(5), limit: 5 }],
    ['POST', '/v1/homology/target-space-compilations', compilation(there)],
    ['POST', '/v1/runs', background(runOf(6))],
    ['POST', '/v1/runs', background(runOf(7, 3))],
    ['POST', '/v1/webhooks/endpoints', { url: 'http://127.0.0.1:9/more', event_types: ['file.deleted'] }],
    ['POST', `/v1/webhooks/endpoints/${there.endpoints[0]}/rotate-secret`, {}],
    ['POST', '/v1/sql-credentials', { name: 'third' }],
    ['POST', `/v1/sql-credentials/${there.credentials[0]}/rotate`],
    ['POST', '/v1/sequences/msa/a3m', { receipt_id: there.receipt }],
    ['POST', '/v1/storage/uploads', { file_name: 'new.bin', size_bytes: 10_000 }],
    ['POST', `/v1/storage/uploads/${there.put}/parts/1/acknowledge`, {}],
    ['POST', `/v1/storage/uploads/${there.acknowledged}/complete`],
  ];
}

function compilation({ release }: Furniture): Json {
  return { DatabaseReleaseID: release, Filter: { op: 'gte', field: 'length', value: '2' } };
}

/** Bytes are refused before by their number, with a code of their own. */
function expectUnavailable(path: string, { status, headers }: Answer): void {
  const code = headers.get('service-error-type');
  if (path.endsWith('/v1/storage/uploads') && code === 'storage_full') return;
  expect({ path, status, code }).toEqual({ path, status: 503, code: 'storage_unavailable' });
  expect(headers.get('service-retryable')).toBe('true');
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
}

async function readiness(): Promise<Json> {
  return (await fetch(`${url}/readyz`)).json() as Promise<Json>;
}

describe.skipIf(!CAN_MOUNT)('a full disk', () => {
  let there: Furniture;

  it('refuses what adds with 503, takes what frees, and loses nothing', { timeout: 90_000 }, async () => {
    await start();
    there = await furnish();
    await stop();
    cutReserve(controlFile(), LEFT_BYTES);
    disk.fill();

    await start();
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    await refusesAdditions();
    expect(await readiness()).toMatchObject({
      status: 'not_ready',
      missing: [expect.stringContaining('disk')],
    });
    await serves();
    await takesWhatFrees();
    expect(server!.exitCode, errors).toBe(null);

    const before = await made('GET', `/v1/runs/${there.waiting}`);
    expect(['queued', 'running']).toContain(before.status);
    disk.free();
    await expect.poll(async () => (await readiness()).status, SOON).toBe('ready');
    await expect
      .poll(async () => (await made('GET', `/v1/runs/${there.waiting}`)).status, { timeout: 60_000 })
      .toBe('completed');
    for (const [method, path, body] of additions(there)) {
      const { status, body: answer } = await call(method, path, body);
      expect({ path, status, code: answer.error?.code }).toEqual({ path, status, code: undefined });
      expect(status).toBeLessThan(300);
    }
    await serves();
    // It was claimed once before the fill and once after: while the disk was full, nothing was counted.
    const after = await made('GET', `/v1/runs/${there.waiting}`);
    expect(after.attempt_count).toBeLessThanOrEqual(2);
    expect(requestCount).toBeGreaterThan(60);
    await stop();
  });

  async function refusesAdditions(): Promise<void> {
    for (const [index, [method, path, body]] of additions(there).entries()) {
      // A search is answered once before its bill cannot be written.
      if (path === '/v1/homology') await call(method, path, body);
      await pause(path === '/v1/homology' ? 300 : 0);
      expectUnavailable(path, await call(method, path, body));
      expectUnavailable(`keyed ${path}`, await call(method, path, body, `key-${index}`));
    }
    const { urls } = await made('POST', `/v1/storage/uploads/${there.created}/part-urls`, {
      part_numbers: [1],
    });
    const put = await putPart(urls[0].url, content);
    expect(['storage_full', 'storage_unavailable']).toContain(put.headers.get('service-error-type'));
  }

  async function serves(): Promise<void> {
    for (const path of [
      '/v1/homology/databases',
      '/v1/runs',
      '/v1/webhooks/endpoints',
      '/v1/sql-credentials',
    ]) {
      await made('GET', path);
    }
    await made('GET', `/v1/receipts/${there.receipt}`);
    for (const upload of [there.created, there.put, there.acknowledged])
      await made('GET', `/v1/storage/uploads/${upload}`);
    const { url: file } = there.kept;
    const read = await fetch(url + new URL(file).pathname, {
      headers: { Authorization: `Bearer ${bench.keys.lab}` },
    });
    expect(sha256(new Uint8Array(await read.arrayBuffer()))).toBe(sha256(content));
  }

  async function takesWhatFrees(): Promise<void> {
    expect((await call('DELETE', '/v1/storage/files?path=gone.bin')).status).toBe(200);
    expect((await made('POST', `/v1/runs/${there.cancelled}/cancel`)).status).toBe('cancelled');
    expect((await call('DELETE', `/v1/storage/uploads/${there.aborted}`)).status).toBe(200);
    expect((await call('DELETE', `/v1/webhooks/endpoints/${there.endpoints[1]}`)).status).toBeLessThan(300);
    expect((await call('DELETE', `/v1/sql-credentials/${there.credentials[1]}`)).status).toBeLessThan(300);
  }
});
