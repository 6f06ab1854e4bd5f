import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBench, type Bench, type Json, type Serving } from '../runs/runs-served.js';
import { PROGRAM } from '../../tools/paths.js';

/* The command line publishes a release beside a running server. */

let bench: Bench;
let serving: Serving;
let receiver: Server;
const received: Json[] = [];

beforeAll(async () => {
  bench = await buildBench(60);
  serving = await bench.start();
  receiver = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ path: request.url, ...JSON.parse(body) });
      response.writeHead(204).end();
      receiver.emit('told');
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  receiver.close();
  await serving.stop();
  bench.remove();
});

async function gloaming(...words: string[]): Promise<void> {
  const environment = { ...process.env, ...bench.environment };
  await promisify(execFile)(process.execPath, [PROGRAM, ...words], { env: environment });
}

async function listen(as: 'lab' | 'other', event_types?: string[]): Promise<void> {
  const { port } = receiver.address() as AddressInfo;
  const body = { url: `http://127.0.0.1:${port}/${as}`, ...(event_types && { event_types }) };
  expect((await serving.call('POST', '/v1/webhooks/endpoints', { body, as })).status).toBe(201);
}

const build = async (name: string, sequences: readonly string[]): Promise<void> => {
  const file = join(bench.folder, `${name}.fasta`);
  writeFileSync(file, sequences.map((sequence, at) => `>p${at}\n${sequence}\n`).join(''));
  await gloaming('index', 'build', file, '--name', name, '--no-calibration');
};

describe('a release that is published', { timeout: 180_000 }, () => {
  it('is sent once to each subscribed organization that may see it', async () => {
    await listen('lab');
    await listen('other', ['release.published']);
    const first = once(receiver, 'told');
    await build('fresh', bench.sequences.slice(0, 5));
    await first;
    while (received.length < 2) await once(receiver, 'told');
    const { body } = await serving.call('GET', '/v1/homology/databases/fresh/releases');
    const [release] = body.data;
    for (const path of ['/lab', '/other']) {
      expect(received.filter((event) => event.path === path)).toEqual([
        {
          path,
          type: 'release.published',
          timestamp: expect.any(String),
          data: { release_id: release.id, database_id: release.database_id, database_slug: 'fresh' },
        },
      ]);
    }
    // The same build publishes the same release again.
    await build('fresh', bench.sequences.slice(0, 5));
    await gloaming('index', 'grant', 'fresh', '--organization', 'lab');
    await build('fresh', bench.sequences.slice(0, 6));
    while (received.length < 3) await once(receiver, 'told');
    expect(received.slice(2).map(({ path }) => path)).toEqual(['/lab']);
    for (const as of ['lab', 'other'] as const) {
      const deliveries = await serving.call('GET', '/v1/webhooks/deliveries', { as });
      expect(deliveries.body.data).toHaveLength(as === 'lab' ? 2 : 1);
    }
  });
});
