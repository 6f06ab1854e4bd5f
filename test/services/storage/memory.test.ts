import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ask, bytesOf, putPart, serveStorage, type StorageBench } from './storage-served.js';
import { serveInProcess } from '../../tools/served-process.js';

const MEBIBYTE = 1024 * 1024;
const SIZE_MEBIBYTES = 300;
const MOST_MEMORY_BYTES = 64 * 1e6;
const isLinux = existsSync('/proc/self/status');
if (!isLinux) console.log('The memory of a streamed upload is not tested: no /proc to read it from.');

let bench: StorageBench;
beforeAll(async () => {
  bench = await serveStorage();
  await bench.stop();
});
afterAll(() => bench.end());

function memory(pid: number, what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
}

it.skipIf(!isLinux)(
  `${SIZE_MEBIBYTES} MiB in one part come in and go out with less than 64 MB of memory`,
  async () => {
    const { server, listening } = serveInProcess(bench.environment);
    try {
      const url = await listening;
      const call = async (method: string, path: string, body?: unknown) =>
        (await ask(url + path, method, bench.keys.lab, body)).body.data;
      const size_bytes = SIZE_MEBIBYTES * MEBIBYTE;
      const { id } = await call('POST', '/v1/storage/uploads', {
        file_name: 'large',
        size_bytes,
        part_size_bytes: size_bytes,
      });
      const { urls } = await call('POST', `/v1/storage/uploads/${id}/part-urls`, { part_numbers: [1] });
      const before = memory(server.pid!, 'VmRSS');
      const block = bytesOf(31, MEBIBYTE);
      let sent = 0;
      const body = new ReadableStream({
        pull(controller) {
          if (sent === SIZE_MEBIBYTES) return controller.close();
          sent += 1;
          controller.enqueue(block);
        },
      });
      const put = await putPart(urls[0].url, body);
      expect(put.status).toBe(200);
      await call('POST', `/v1/storage/uploads/${id}/parts/1/acknowledge`);
      const done = await call('POST', `/v1/storage/uploads/${id}/complete`);
      const expected = createHash('sha256');
      for (let at = 0; at < SIZE_MEBIBYTES; at += 1) expected.update(block);
      expect(done.checksum).toBe(expected.digest('hex'));
      const response = await fetch(done.url, { headers: { Authorization: `Bearer ${bench.keys.lab}` } });
      let came = 0;
      for await (const chunk of response.body!) came += (chunk as Uint8Array).length;
      expect(came).toBe(size_bytes);
      const used = memory(server.pid!, 'VmHWM') - before;
      console.log(`${(used / 1e6).toFixed(0)} MB of memory above idle`);
      expect(used).toBeLessThan(MOST_MEMORY_BYTES);
    } finally {
      server.kill('SIGKILL');
      await once(server, 'exit');
    }
  },
  180_000,
);
