import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON } from '../../tools/expectations.js';
import { CAN_MOUNT, cutReserve } from '../../store/small-disk.js';
import {
  additions,
  expectServing,
  expectUnavailable,
  furnish,
  serveOnSmallDisk,
  type DiskScene,
  type Furniture,
} from './small-disk-served.js';

/* A server that starts on a real file system that is full, and every kind of request that writes. */

const DISK_MIB = 48;
const LEFT_BYTES = 4 << 20;

let scene: DiskScene;

beforeAll(async () => {
  if (CAN_MOUNT) scene = await serveOnSmallDisk(DISK_MIB);
}, 120_000);
afterAll(() => scene?.end());

describe.skipIf(!CAN_MOUNT)('a start on a full disk', () => {
  let there: Furniture;

  it('refuses additions with 503, accepts deletions, and loses nothing', { timeout: 90_000 }, async () => {
    await scene.start();
    there = await furnish(scene);
    await scene.kill();
    cutReserve(scene.controlFile, LEFT_BYTES);
    scene.disk.fill();

    await scene.start();
    expect((await fetch(`${scene.url}/healthz`)).status).toBe(200);
    await refusesAdditions();
    expect(await scene.readiness()).toMatchObject({
      status: 'not_ready',
      missing: [expect.stringContaining('disk')],
    });
    await expectServing(scene, there);
    await takesWhatFrees();
    scene.expectAlive();

    const before = await scene.create('GET', `/v1/runs/${there.waiting}`);
    expect(['queued', 'running']).toContain(before.status);
    scene.disk.free();
    await expect.poll(async () => (await scene.readiness()).status, SOON).toBe('ready');
    await expect
      .poll(async () => (await scene.create('GET', `/v1/runs/${there.waiting}`)).status, { timeout: 60_000 })
      .toBe('completed');
    for (const [method, path, body] of additions(scene, there)) await scene.create(method, path, body);
    await expectServing(scene, there);
    // The run was claimed before and after the full disk. No attempt counted in between.
    const after = await scene.create('GET', `/v1/runs/${there.waiting}`);
    expect(after.attempt_count).toBeLessThanOrEqual(2);
    expect(scene.requestCount).toBeGreaterThan(60);
    await scene.kill();
  });

  async function refusesAdditions(): Promise<void> {
    for (const [index, [method, path, body]] of additions(scene, there).entries()) {
      expectUnavailable(path, await scene.call(method, path, body));
      expectUnavailable(`keyed ${path}`, await scene.call(method, path, body, `key-${index}`));
    }
    const put = await scene.part(there.created);
    expect(['storage_full', 'storage_unavailable']).toContain(put.headers.get('service-error-type'));
  }

  async function takesWhatFrees(): Promise<void> {
    expect((await scene.call('DELETE', '/v1/storage/files?path=gone.bin')).status).toBe(200);
    expect((await scene.create('POST', `/v1/runs/${there.cancelled}/cancel`)).status).toBe('cancelled');
    for (const path of [
      `/v1/storage/uploads/${there.aborted}`,
      `/v1/webhooks/endpoints/${there.endpoints[1]}`,
      `/v1/sql-credentials/${there.credentials[1]}`,
    ]) {
      expect((await scene.call('DELETE', path)).status).toBeLessThan(300);
    }
  }
});
