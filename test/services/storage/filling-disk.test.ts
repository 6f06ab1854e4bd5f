import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DIRECT_FORMULA_ID } from '#src/services/billing/metering.js';
import { SOON } from '../../tools/expectations.js';
import { CAN_MOUNT } from '../../store/small-disk.js';
import type { Json } from '../runs/runs-served.js';
import {
  additions,
  askSql,
  expectServing,
  expectUnavailable,
  furnish,
  queryOf,
  serveOnSmallDisk,
  type DiskScene,
  type Furniture,
} from './small-disk-served.js';
import type { Answer } from './storage-served.js';

/* A server whose disk, a real file system, becomes full while it works. */

const DISK_MIB = 48;
/** Only these codes may report a disk that accepts no write, and then nothing has changed. */
const DISK_CODES = ['storage_unavailable', 'storage_full'];
/** Longest delay after which the entries of direct searches are written together. */
const BILLED_WITHIN_MS = 250;

let scene: DiskScene;

beforeAll(async () => {
  if (CAN_MOUNT) scene = await serveOnSmallDisk(DISK_MIB);
}, 120_000);
afterAll(() => scene?.end());

describe.skipIf(!CAN_MOUNT)('a disk that becomes full under a running server', () => {
  let there: Furniture;
  let answeredSearches = 0;

  it(
    'refuses additions, accepts deletions, and lets all other requests succeed',
    { timeout: 180_000 },
    async () => {
      await scene.start();
      there = await furnish(scene);
      answeredSearches += 1;
      const counts = await whileItFills();
      expect(counts.unexpected).toEqual([]);
      expect(counts.refused).toBeGreaterThan(0);
      await untilRefused();

      for (const [index, [method, path, body]] of additions(scene, there, 5).entries()) {
        expectUnavailable(path, await scene.call(method, path, body));
        expectUnavailable(`keyed ${path}`, await scene.call(method, path, body, `full-${index}`));
      }
      expectUnavailable('sql', await askSql(scene, there));
      expect(DISK_CODES).toContain((await scene.part(there.created)).headers.get('service-error-type'));
      expect(await scene.readiness()).toMatchObject({
        status: 'not_ready',
        missing: [expect.stringContaining('disk')],
      });
      await expectServing(scene, there);
      await takesWhatFrees();
      await answersWhatChangesNothing();
      const waiting = await scene.create('GET', `/v1/runs/${there.waiting}`);
      expect(['queued', 'running', 'completed']).toContain(waiting.status);
      expect(waiting.attempt_count).toBeLessThanOrEqual(1);
      scene.expectAlive();

      // The latest responses are in the ledger, although the disk accepts no additions.
      await pause(BILLED_WITHIN_MS);
      await scene.kill();
      await scene.start();
      scene.disk.free();
      await expect.poll(async () => (await scene.readiness()).status, SOON).toBe('ready');
      await expect
        .poll(async () => (await scene.create('GET', `/v1/runs/${there.waiting}`)).status, {
          timeout: 60_000,
        })
        .toBe('completed');
      const billed = `SELECT count(*) FROM usage WHERE formula_id = '${DIRECT_FORMULA_ID}'`;
      expect((await askSql(scene, there, billed)).body.data.rows).toEqual([[answeredSearches]]);
      for (const [method, path, body] of additions(scene, there, 6)) await scene.create(method, path, body);
      expect((await askSql(scene, there)).status).toBe(200);
      await expectServing(scene, there);
      await scene.kill();
      process.stdout.write(`${scene.requestCount} requests, ${counts.refused} refused while it filled\n`);
    },
  );

  /** Sends every kind of request, keyed and not, while the last space is used up. */
  async function whileItFills(): Promise<{ refused: number; unexpected: Json[] }> {
    const unexpected: Json[] = [];
    let refused = 0;
    const note = (path: string, answer: Answer): void => {
      const code = answer.headers.get('service-error-type') ?? '';
      if (path === '/v1/homology' && answer.status === 200) answeredSearches += 1;
      if (DISK_CODES.includes(code)) refused += 1;
      // Other conflicts, such as a second complete of an upload, are caused by the request itself.
      else if (answer.status >= 500) unexpected.push({ path, status: answer.status, code });
    };
    const clients = [0, 1, 2, 3].map(async (client) => {
      for (let round = 0; round < 3; round += 1) {
        for (const [index, [method, path, body]] of additions(scene, there, round).entries()) {
          // The scene's own uploads keep their states.
          if (path.startsWith('/v1/storage/uploads/')) continue;
          const key = client % 2 === 0 ? undefined : `filling-${client}-${round}-${index}`;
          note(path, await scene.call(method, path, body, key));
        }
        note('sql', await askSql(scene, there));
        await scene.upload(`filling-${client}-${round}.bin`, 'completed').catch(() => undefined);
      }
    });
    await pause(100);
    scene.disk.fill();
    await Promise.all(clients);
    return { refused, unexpected };
  }

  /** The reserve of the control state lasts for a while. Stored responses use it up, other requests are only billed. */
  async function untilRefused(): Promise<void> {
    for (let index = 0; index < 2_000; index += 1) {
      const search = { query: queryOf(scene, index), limit: 60, evidence: 'pairwise_sequence_alignment' };
      const [{ status, headers }, unkeyed] = await Promise.all([
        scene.call('POST', '/v1/homology', search, `until-${index}`),
        scene.call('POST', '/v1/homology', there.search),
      ]);
      answeredSearches += [status, unkeyed.status].filter((each) => each === 200).length;
      if (headers.get('service-error-type') === 'storage_unavailable') return;
    }
    throw new Error('The disk never was full.');
  }

  async function takesWhatFrees(): Promise<void> {
    expect((await scene.call('DELETE', '/v1/storage/files?path=gone.bin')).status).toBe(200);
    const cancelled = await scene.call('POST', `/v1/runs/${there.cancelled}/cancel`, undefined, 'cancel');
    expect(cancelled).toMatchObject({ status: 200, body: { data: { status: 'cancelled' } } });
    const again = await scene.call('POST', `/v1/runs/${there.cancelled}/cancel`, undefined, 'cancel');
    expect(again.body.data).toEqual(cancelled.body.data);
    for (const path of [
      `/v1/storage/uploads/${there.aborted}`,
      `/v1/webhooks/endpoints/${there.endpoints[1]}`,
      `/v1/sql-credentials/${there.credentials[1]}`,
    ]) {
      expect((await scene.call('DELETE', path)).status).toBeLessThan(300);
    }
  }

  /** These responses cannot be stored and need not be, because a retry returns the same. */
  async function answersWhatChangesNothing(): Promise<void> {
    const price = { endpoints: { 'homology.search': { unit_quantity: 2 } }, estimate_type: 'unit_price' };
    const file = encodeURIComponent(new URL(there.kept.url).pathname);
    for (const [path, body] of [
      ['/v1/models/pricing/estimate', price],
      ['/v1/refs/resolve', { query: there.targets[0] }],
      [`/v1/storage/file-signed-urls?url=${file}`, {}],
      [`/v1/storage/uploads/${there.created}/part-urls`, { part_numbers: [1] }],
    ] as const) {
      expect({ path, status: (await scene.call('POST', path, body, `reads ${path}`)).status }).toEqual({
        path,
        status: expect.toSatisfy((status: number) => status < 300),
      });
    }
  }
});
