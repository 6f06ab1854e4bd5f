// @module-tag fast

import { expect, it } from 'vitest';
import { OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT } from '#src/limits.js';
import { StorageRoom } from '#src/services/storage/room.js';

const bounds = { quotaBytes: 1_000, reserveBytes: 100 };
const usage = { fileBytes: 600, fileCount: 1, uploadBytes: 300, uploadCount: 1 };
const roomOf = (freeBytes: number) => new StorageRoom({ freeBytes: async () => freeBytes }, bounds);

it('the free space of the disk excludes reservations that are not written yet', async () => {
  const room = roomOf(1_000);
  const giveBack = await room.take(500);
  await room.requireDisk(400);
  await expect(room.requireDisk(401)).rejects.toMatchObject({ code: 'storage_full' });
  await expect(room.take(401)).rejects.toMatchObject({ code: 'storage_full' });
  giveBack();
  await room.requireDisk(900);
  await expect(room.requireDisk(901)).rejects.toMatchObject({ code: 'storage_full' });
});

it('a reservation is released once, however often it is released', async () => {
  const room = roomOf(1_000);
  await room.take(300);
  const giveBack = await room.take(500);
  giveBack();
  giveBack();
  await room.requireDisk(600);
  await expect(room.requireDisk(601)).rejects.toMatchObject({ code: 'storage_full' });
});

it('the quota counts files and announced uploads, to the byte', () => {
  const room = roomOf(0);
  room.requireQuota(usage, 100);
  const facts = { used_bytes: 900, quota_bytes: 1_000, requested_bytes: 101 };
  expect(() => room.requireQuota(usage, 101)).toThrow(
    expect.objectContaining({ code: 'storage_quota_exceeded', details: facts }) as Error,
  );
});

it('the quota bounds uploads that are open at once', () => {
  const uploadCount = OPEN_UPLOADS_PER_ORGANIZATION_MAX_COUNT;
  roomOf(0).requireQuota({ ...usage, uploadCount: uploadCount - 1 }, 1);
  expect(() => roomOf(0).requireQuota({ ...usage, uploadCount }, 1)).toThrow(
    /too many files or open uploads/,
  );
});
