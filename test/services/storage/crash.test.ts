// @module-tag long

import { spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ask,
  bytesOf,
  putPart,
  serveStorage,
  sha256,
  type Answer,
  type Json,
  type StorageBench,
} from './storage-served.js';
import { PROGRAM } from '../../tools/paths.js';
import { serveInProcess } from '../../tools/served-process.js';
import { repetitions } from '../../tools/suite/repetitions.js';

/*
 * A server is killed repeatedly with uploads in progress. Afterwards no acknowledged part and no completed file is
 * lost, and no partial file can be read. The bytes on disk are exactly those that uploads and files refer to.
 * GLOAMING_CRASH_KILLS=200 runs the long version; GLOAMING_SEED repeats one.
 */

const KILLS = repetitions('GLOAMING_CRASH_KILLS', 5, 200);
const CLIENTS = 4;
const PART = 5 * 1024 * 1024;
const seed = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

const HEAD = bytesOf(seed, PART);

let bench: StorageBench;
let url: string | undefined;
let server: ChildProcess;
let isOver = false;

beforeAll(async () => {
  bench = await serveStorage();
  // This server made folder and keys. The killed one has a process of its own.
  await bench.stop();
});
afterAll(async () => {
  server?.kill('SIGKILL');
  await bench.end();
});

async function startServer(): Promise<void> {
  const started = serveInProcess(bench.environment);
  server = started.server;
  url = await started.listening;
}

async function killServer(): Promise<void> {
  url = undefined;
  server.kill('SIGKILL');
  await once(server, 'exit');
}

/** Repeats a request until a server responds; undefined once the test is over. */
async function insist(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
  while (!isOver) {
    try {
      if (url !== undefined) return await ask(url + path, method, bench.keys.lab, body);
    } catch {
      // The server died with the request. Only a repetition shows the result.
    }
    await pause(20);
  }
  return undefined;
}

interface Upload {
  readonly id: string;
  readonly content: Buffer;
  readonly acknowledged: Set<number>;
  completedUrl?: string;
}
const uploads: Upload[] = [];

/** Sends and acknowledges one part, however often the server dies meanwhile. */
async function sendPart(upload: Upload, part: number): Promise<void> {
  const bytes = upload.content.subarray((part - 1) * PART, part * PART);
  for (;;) {
    const urls = await insist('POST', `/v1/storage/uploads/${upload.id}/part-urls`, { part_numbers: [part] });
    if (urls === undefined) return;
    const sent = await putPart(urls.body.data.urls[0].url, bytes).catch(() => undefined);
    if (sent?.status !== 200) continue;
    const path = `/v1/storage/uploads/${upload.id}/parts/${part}/acknowledge`;
    const answer = await insist('POST', path, { checksum: sha256(bytes) });
    if (answer === undefined) return;
    // A part with response 200 before the kill must exist after it.
    expect({ part, status: answer.status }).toEqual({ part, status: 200 });
    upload.acknowledged.add(part);
    return;
  }
}

async function client(number: number): Promise<void> {
  for (let turn = 0; !isOver; turn += 1) {
    // All contents begin alike, so that equal parts are added and removed at the same time.
    const content = Buffer.concat([HEAD, Buffer.from(`${seed} ${number} ${turn}`)]);
    const file = {
      file_name: `client-${number}/file-${turn}`,
      size_bytes: content.length,
      part_size_bytes: PART,
    };
    const created = await insist('POST', '/v1/storage/uploads', file);
    if (created === undefined) return;
    const upload: Upload = { id: created.body.data.id, content, acknowledged: new Set() };
    uploads.push(upload);
    await sendPart(upload, 2);
    await sendPart(upload, 1);
    if (turn % 3 === 2) {
      await insist('DELETE', `/v1/storage/uploads/${upload.id}`);
      continue;
    }
    const done = await insist('POST', `/v1/storage/uploads/${upload.id}/complete`);
    if (done === undefined) return;
    expect({ status: done.status, body: done.status === 200 ? {} : done.body }).toEqual({
      status: 200,
      body: {},
    });
    upload.completedUrl = new URL(done.body.data.url).pathname;
  }
}

function storedObjects(): string[] {
  const folder = join(bench.folder, 'data', 'objects');
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}

/** Digests of all bytes with a reference. */
async function expectedObjects(): Promise<string[]> {
  const expected = new Set<string>();
  for (const { id, content, acknowledged, completedUrl } of uploads) {
    const { status, body } = await ask(`${bench.url}/v1/storage/uploads/${id}`, 'GET', bench.keys.lab);
    // The upload was aborted.
    if (status === 404) {
      expect(completedUrl).toBeUndefined();
      continue;
    }
    const { data } = body as Json;
    const digests = [content.subarray(0, PART), content.subarray(PART)].map(sha256);
    for (const part of acknowledged) expect(data.uploaded_parts).toContain(part);
    if (completedUrl !== undefined) expect(data.status).toBe('completed');
    for (const part of data.uploaded_parts) expected.add(digests[part - 1]!);
    if (data.status !== 'completed') continue;
    const headers = { Authorization: `Bearer ${bench.keys.lab}` };
    const response = await fetch(bench.url + new URL(data.url).pathname, { headers });
    expect(sha256(Buffer.from(await response.arrayBuffer()))).toBe(sha256(content));
  }
  return [...expected].sort();
}

/** Findings of "gloaming fsck" in a process of its own, beside the server. */
function findings(): Json[] {
  const main = PROGRAM;
  const { stdout } = spawnSync(process.execPath, [main, 'fsck', '--json'], {
    env: { ...process.env, ...bench.environment },
    encoding: 'utf8',
  });
  return JSON.parse(stdout).findings;
}

describe(`a server that is killed ${KILLS} times with uploads in flight (seed ${seed})`, () => {
  it(
    'loses no acknowledged part and no completed file, and leaves no bytes without a reference',
    async () => {
      await startServer();
      const clients = Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number)));
      clients.catch(() => (isOver = true));
      const isDone = () => uploads.some(({ completedUrl }) => completedUrl !== undefined);
      // On a busy machine the first servers may be killed before an upload is complete. Later ones live longer.
      for (let kill = 0; (kill < KILLS || (!isDone() && kill < 4 * KILLS)) && !isOver; kill += 1) {
        await pause(150 + kill * 100 + ((seed + kill * 7_919) % 900));
        await killServer();
        await startServer();
      }
      isOver = true;
      await clients;
      await killServer();
      await bench.restart();
      expect(findings()).toEqual([]);
      const expected = await expectedObjects();
      const stored = storedObjects();
      // Parts without an acknowledgement are stored until their upload ends.
      const parts = new Set(
        uploads.flatMap(({ content }) => [content.subarray(0, PART), content.subarray(PART)].map(sha256)),
      );
      expect(expected.filter((digest) => !stored.includes(digest))).toEqual([]);
      expect(stored.filter((digest) => !parts.has(digest))).toEqual([]);
      for (const { id } of uploads) await bench.ask('lab', 'DELETE', `/v1/storage/uploads/${id}`);
      for (let number = 0; number < CLIENTS; number += 1) {
        await bench.ask('lab', 'DELETE', `/v1/storage/files?path=client-${number}`);
      }
      expect(storedObjects()).toEqual([]);
      expect(findings()).toEqual([]);
      const completed = uploads.filter(({ completedUrl }) => completedUrl !== undefined).length;
      expect(completed).toBeGreaterThan(0);
      console.log(`${uploads.length} uploads, ${completed} of them completed`);
    },
    60_000 + KILLS * 15_000,
  );
});
