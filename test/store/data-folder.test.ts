// @module-tag fast

import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkStore } from '#src/store/check/check.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { CONTROL_FOLDER } from '#src/store/prepare.js';
import { sealingKey } from '#src/store/secrets.js';
import { openSnapshot } from '#src/store/snapshot.js';
import { openStorageTables, type StorageTables } from '#src/store/storage/storage.js';
import { ApiKeyTable } from '#src/store/tables/api-keys.js';
import { EventTable } from '#src/store/tables/events.js';
import { openMsaTables } from '#src/store/tables/msas.js';
import { ReceiptTable } from '#src/store/tables/receipts.js';
import { ReleaseTable } from '#src/store/tables/releases.js';
import { unpackBytes } from '#src/store/tables/run-rows.js';
import { RunTable } from '#src/store/tables/runs.js';
import { SqlCredentialTable } from '#src/store/tables/sql-credentials.js';
import { TargetSpaceTable } from '#src/store/tables/target-spaces.js';
import { UsageTable } from '#src/store/tables/usage.js';
import { WebhookTable } from '#src/store/tables/webhooks.js';
import { latestVersion, SETTINGS_TABLE, VERSION_KEY } from '#src/store/version.js';
import { atOnce } from '#src/turns.js';
import { ROOT } from '../tools/paths.js';

/* The README beside the data describes how they were made. */

const SOURCE = join(ROOT, 'test/fixtures/data-folder-1');
const folder = mkdtempSync(join(tmpdir(), 'gloaming-folder-1-'));
const { organizationId, apiKey, fileSha256, filePath, ids, sqlUsername } = JSON.parse(
  readFileSync(join(SOURCE, 'expected.json'), 'utf8'),
) as {
  readonly organizationId: string;
  readonly apiKey: string;
  readonly fileSha256: string;
  readonly filePath: string;
  readonly ids: Readonly<Record<string, string>>;
  readonly sqlUsername: string;
};

let store: ControlStore;
let storage: StorageTables;
beforeAll(async () => {
  const control = join(folder, CONTROL_FOLDER);
  mkdirSync(control);
  writeFileSync(join(control, 'data.mdb'), gunzipSync(readFileSync(join(SOURCE, 'control.mdb.gz'))));
  cpSync(join(SOURCE, 'objects'), join(folder, 'objects'), { recursive: true });
  await expectClean();
  store = openControlStore(folder);
  storage = openStorageTables(store, folder, new EventTable(store));
});
afterAll(async () => {
  await expectClean();
  await store.close();
  rmSync(folder, { recursive: true });
});

/** Checked before the first open for writing, and after the last test. */
async function expectClean(): Promise<void> {
  const snapshot = await openSnapshot(folder);
  const verdict = await checkStore(snapshot, folder, new Date());
  await snapshot.close();
  expect(verdict.findings).toEqual([]);
  expect(verdict).toMatchObject({ objectCount: 3, objectBytes: 507 });
  expect(verdict.rowCount).toBeGreaterThanOrEqual(69);
}

describe('a data folder of version 1', () => {
  it('is migrated to the latest version when it is opened', () => {
    expect(store.table<string>(SETTINGS_TABLE).get(VERSION_KEY)).toBe(String(latestVersion()));
  });

  it('lists its keys, including the revoked one', () => {
    const keys = new ApiKeyTable(store);
    const short = apiKey.slice('glm_'.length, 'glm_'.length + 8);
    expect(keys.findByShort(short)).toMatchObject({ sha256: sha256(Buffer.from(apiKey)), organizationId });
    // Existing keys have all rights of the contract, as before.
    expect(keys.list().map(({ scope }) => scope)).toEqual(keys.list().map(() => 'manage'));
    expect(keys.list().map(({ name, revokedAt }) => [name, revokedAt !== undefined])).toEqual(
      expect.arrayContaining([
        ['reader', false],
        ['gone', true],
      ]),
    );
  });

  it('lists its databases and releases', () => {
    const table = new ReleaseTable<{ readonly format: string }>(store);
    expect(table.defaultDatabase()).toMatchObject({ slug: 'demo', defaultReleaseId: ids.release });
    expect(table.releases('demo')).toHaveLength(1);
    expect(table.holders(ids.release)[0].manifest.format).toBe('gloaming-release/1');
  });

  it('has a finished run with its rows and events, and resumes the waiting one', async () => {
    const runs = new RunTable(store);
    expect(runs.get(ids.run)).toMatchObject({ status: 'completed', rowCount: 5, organizationId });
    expect((await runs.rows.blockAt(ids.run, 4))?.rows).toHaveLength(5);
    expect(runs.events.after(ids.run, 0).map(({ type }) => type)).toEqual([
      'run.queued',
      'run.running',
      'run.completed',
    ]);
    expect(runs.unfinished().map(({ id }) => id)).toEqual([ids.waitingRun]);
    const plan = JSON.parse(String(await unpackBytes(runs.plan(ids.waitingRun) as Buffer))) as object;
    expect(plan).toMatchObject({ limit: 5, release: { releaseId: ids.release } });
    const listed = atOnce(runs.list(organizationId, {}, { limit: 10 }));
    expect(listed.runs.map(({ id }) => id)).toEqual([ids.waitingRun, ids.run]);
  });

  it('has its earlier bills', () => {
    const usage = new UsageTable(store);
    expect(usage.totals(organizationId, 'homology.search')).toEqual({ calls: 2, units: 2 });
    expect(usage.list(organizationId, 0, 10).map(({ id }) => id)).toContain(ids.run);
    expect(usage.count(organizationId)).toBe(2);
  });

  it('has its receipts, alignments and target spaces', async () => {
    expect(new ReceiptTable(store).get(ids.receipt)).toMatchObject({ organizationIds: [organizationId] });
    expect(new TargetSpaceTable(store).find(ids.targetSpace, organizationId).status).toBe('found');
    const { components, msas } = openMsaTables(store, storage.objects);
    expect(components.get(ids.component)?.organizationIds).toEqual([organizationId]);
    const row = msas.get(ids.msa);
    expect(sha256(await bytesOf(msas.open(ids.msa)?.bytes))).toBe(row?.content.sha256);
  });

  it('returns its file, and has the open upload', async () => {
    const file = storage.files.at(organizationId, filePath);
    expect(file).toMatchObject({ sha256: fileSha256, sizeBytes: 29 });
    const content = storage.contents.open(fileSha256, 0, 29);
    expect(sha256(await bytesOf(content?.bytes))).toBe(fileSha256);
    const upload = storage.uploads.get(ids.upload);
    expect(upload?.status).toBe('uploading');
    expect(storage.uploads.acknowledgedParts(upload!)).toEqual([2]);
    expect(storage.usage.get(organizationId)).toEqual({
      fileBytes: 29,
      fileCount: 1,
      uploadBytes: 5 * 1024 * 1024 + 10,
      uploadCount: 1,
    });
  });

  it('still has to deliver to its endpoint', () => {
    const webhooks = new WebhookTable(store);
    const endpoint = webhooks.endpoint(ids.endpoint);
    expect(endpoint?.eventTypes).toEqual(['run.completed', 'file.completed']);
    expect(endpoint?.secrets).toEqual([{ secret: expect.stringMatching(/^whsec_/) }]);
    expect(store.bytes('webhook-endpoints').get(ids.endpoint)?.toString()).not.toContain('whsec_');
    const { deliveries } = webhooks.deliveries(organizationId, { endpointId: ids.endpoint }, 10);
    expect(deliveries.map(({ status }) => status)).toEqual(['pending', 'pending', 'pending']);
    const waiting = { organizationId, endpointId: ids.endpoint };
    expect([...webhooks.waiting()]).toMatchObject([waiting]);
    const atWork = new Set<string>();
    for (let first = webhooks.due(waiting, new Date(), atWork); first !== undefined;) {
      atWork.add(first.id);
      first = webhooks.due(waiting, new Date(), atWork);
    }
    expect(atWork).toEqual(new Set(deliveries.map(({ id }) => id)));
  });

  it('accepts its SQL credential, and verifies its own seals', async () => {
    expect(new SqlCredentialTable(store).findByUsername(sqlUsername)).toMatchObject({
      id: ids.sqlCredential,
      organizationId,
    });
    const before = [...store.table<string>('secrets').getRange()];
    expect(await sealingKey(store)).toHaveLength(32);
    expect([...store.table<string>('secrets').getRange()]).toEqual(before);
  });
});

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function bytesOf(source: AsyncIterable<Uint8Array> | undefined): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of source ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}
