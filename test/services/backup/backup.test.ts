import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAppliance } from '#src/appliance.js';
import { serve } from '#src/cli/serve/serve.js';
import { loadConfig } from '#src/config.js';
import { backup } from '#src/services/backup/backup.js';
import { fsck } from '#src/services/backup/fsck.js';
import { restore } from '#src/services/backup/restore.js';
import { SECRET_KEY_FILE } from '#src/store/secret-key.js';
import { ask } from '../storage/storage-served.js';
import {
  addForgedReleases,
  environmentOf,
  filesBelow,
  SECRET,
  useAppliance,
  type Folders,
  type UsedAppliance,
} from './used-appliance.js';
import { PROGRAM } from '../../tools/paths.js';

const main = PROGRAM;
const now = new Date('2026-01-02T03:04:05.000Z');

let used: UsedAppliance;
beforeAll(async () => {
  used = await useAppliance();
}, 120_000);
afterAll(() => used.end());

const save = (target: string, folders = used.folders, isVerifying = false) =>
  backup({ folders, target, now, isVerifying });

const largestFile = (folder: string): string =>
  filesBelow(folder)
    .map((name) => join(folder, name))
    .sort((a, b) => statSync(b).size - statSync(a).size)[0] as string;

describe('a backup', () => {
  it('restores an appliance that serves the same data', { timeout: 60_000 }, async () => {
    const target = used.place();
    await save(target);
    const folders = used.newFolders();
    const report = await restore({ folders, source: target });
    expect(report).toMatchObject({ createdAt: now.toISOString(), knownCount: 0 });
    expect(filesBelow(folders.indexesFolder)).toEqual(filesBelow(used.folders.indexesFolder));
    // Maintenance records belong to one folder and are not copied.
    const files = filesBelow(used.folders.dataFolder).filter((name) => !name.startsWith('last-'));
    expect(filesBelow(folders.dataFolder)).toEqual(files.filter((name) => name !== SECRET_KEY_FILE));
    // The key of the seals was not in the backup.
    const config = loadConfig(environmentOf(folders));
    await expect(openAppliance(config)).rejects.toMatchObject({ code: 'secret_key_missing' });
    copyFileSync(join(used.folders.dataFolder, SECRET_KEY_FILE), join(folders.dataFolder, SECRET_KEY_FILE));
    expect((await fsck({ folders, now: new Date() })).findings).toEqual([]);
    const appliance = await openAppliance(config);
    const server = await serve(appliance, pino({ level: 'silent' }), { isResponseChecked: true });
    const { run, receipt, msa, upload } = used.ids;
    const gets = [`/v1/runs/${run}/results`, `/v1/receipts/${receipt}`, `/v1/storage/uploads/${upload}`];
    for (const path of gets) expect((await ask(server.url + path, 'GET', used.key)).status, path).toBe(200);
    const headers = { Authorization: `Bearer ${used.key}` };
    const a3m = await fetch(`${server.url}/v1/sequences/msa/a3m/${msa}`, { headers });
    expect(await a3m.text()).toMatch(/^>query\n/);
    const file = await fetch(server.url + used.ids.file, { headers });
    expect(Buffer.from(await file.arrayBuffer()).equals(used.fileBytes)).toBe(true);
    await server.stop(1_000);
    await appliance.close();
  });

  it('copies only new files, and removes unneeded ones', async () => {
    const target = used.place();
    const first = await save(target);
    expect(first).toMatchObject({ copiedCount: first.fileCount, removedCount: 0 });
    expect(await save(target)).toMatchObject({ copiedCount: 0, removedCount: 0 });
    const folders = used.copy();
    const appliance = await openAppliance(loadConfig(environmentOf(folders)));
    await appliance.storage.files.delete('folder', contextOf('lab'));
    await appliance.close();
    const next = await save(target, folders);
    // The new control state replaces the earlier one and the two parts of the file.
    expect(next).toMatchObject({ copiedCount: 1, removedCount: 3 });
    expect(filesBelow(join(target, 'bytes'))).toHaveLength(next.fileCount);
  });

  it('can be restored if the path of the indexes folder ends with a slash', async () => {
    const target = used.place();
    await save(target, { ...used.folders, indexesFolder: `${used.folders.indexesFolder}/` });
    const folders = used.newFolders();
    await restore({ folders, source: target });
    expect(filesBelow(folders.indexesFolder)).toEqual(filesBelow(used.folders.indexesFolder));
  });

  it('keeps its manifest if a folder cannot be read, which is not an empty one', async () => {
    const target = used.place();
    await save(target);
    const manifest = readFileSync(join(target, 'backup.json'));
    const folders = used.copy();
    const encoders = join(folders.indexesFolder, 'encoders');
    rmSync(encoders, { recursive: true, force: true });
    writeFileSync(encoders, 'a file');
    await expect(save(target, folders)).rejects.toMatchObject({ code: 'ENOTDIR' });
    expect(readFileSync(join(target, 'backup.json'))).toEqual(manifest);
  });

  it('resumes an interrupted one at its byte', async () => {
    const target = used.place();
    const whole = await save(target);
    const bytes = largestFile(join(target, 'bytes'));
    const { size } = statSync(bytes);
    mkdirSync(join(target, 'incoming'));
    const name = bytes.slice(-64);
    writeFileSync(join(target, 'incoming', name), readFileSync(bytes).subarray(0, size - 10));
    unlinkSync(bytes);
    rmSync(join(target, 'backup.json'));
    let copied = 0;
    const again = await backup({ folders: used.folders, target, now, onBytes: (count) => (copied += count) });
    expect(again).toMatchObject({ fileCount: whole.fileCount, copiedCount: 1 });
    expect(copied).toBe(10);
    expect(readFileSync(bytes)).toHaveLength(size);
  });

  it(
    'killed at any moment, leaves the earlier one intact and can be resumed',
    { timeout: 60_000 },
    async () => {
      const target = used.place();
      for (let killAfterMs = 250; killAfterMs < 900; killAfterMs += 130) {
        const child = spawn(process.execPath, [main, 'backup', target], {
          env: { ...process.env, ...environmentOf(used.folders) },
          stdio: 'ignore',
        });
        const exited = once(child, 'exit');
        await pause(killAfterMs);
        child.kill('SIGKILL');
        await exited;
        if (!existsSync(join(target, 'backup.json'))) continue;
        await restore({ folders: used.newFolders(), source: target });
      }
      await save(target);
      await restore({ folders: used.newFolders(), source: target });
    },
  );

  it('is refused if bytes are missing or changed, and the earlier one stays', async () => {
    const target = used.place();
    await save(target);
    const before = readFileSync(join(target, 'backup.json'));
    const folders = used.copy();
    truncateSync(largestFile(join(folders.dataFolder, 'objects')), 5);
    const refused = save(used.place(), folders);
    await expect(refused).rejects.toMatchObject({ code: 'backup_source_damaged' });
    // Files that are in the backup already are not copied again.
    await save(target, folders);
    expect(JSON.parse(String(before)).files).toHaveLength((await save(target)).fileCount);
  });

  it('is refused without a release that the catalog names, and the earlier one stays', async () => {
    const target = used.place();
    await save(target);
    // Bytes are named by their digests, and the restore below checks them.
    const contents = () => [
      readFileSync(join(target, 'backup.json'), 'utf8'),
      ...filesBelow(join(target, 'bytes')),
    ];
    const before = contents();
    const emptied = used.copy();
    rmSync(emptied.indexesFolder, { recursive: true });
    mkdirSync(emptied.indexesFolder);
    const absent = used.copy();
    rmSync(absent.indexesFolder, { recursive: true });
    const lost = used.copy();
    const lostManifest = filesBelow(lost.indexesFolder).find((name) => name.endsWith('/manifest.json'))!;
    rmSync(join(lost.indexesFolder, lostManifest, '..'), { recursive: true });
    for (const folders of [emptied, absent, lost]) {
      await expect(save(target, folders)).rejects.toMatchObject({
        code: 'backup_source_damaged',
        message: expect.stringContaining(join('indexes', lostManifest)),
      });
      expect(contents()).toEqual(before);
    }
    await restore({ folders: used.newFolders(), source: target });
  });

  it('names a forged release and reads no file outside, and the earlier one stays', async () => {
    const target = used.place();
    const folders = used.copy();
    await save(target, folders);
    const before = filesBelow(join(target, 'bytes'));
    for (const directory of [...addForgedReleases(folders)].sort()) {
      await expect(save(target, folders)).rejects.toMatchObject({
        code: 'backup_source_damaged',
        message: expect.stringContaining(`The release ${directory} cannot be backed up: `),
      });
      rmSync(directory, { recursive: true });
    }
    expect(filesBelow(join(target, 'bytes'))).toEqual(before);
    const texts = filesBelow(target).map((name) => readFileSync(join(target, name), 'utf8'));
    expect(texts).not.toContain(SECRET);
    await restore({ folders: used.newFolders(), source: target });
  });

  it('finds and repairs its own damage with the verify option', async () => {
    const target = used.place();
    await save(target);
    const path = largestFile(join(target, 'bytes'));
    const bytes = readFileSync(path);
    bytes[7]! ^= 1;
    writeFileSync(path, bytes);
    expect(await save(target)).toMatchObject({ copiedCount: 0 });
    expect(await save(target, used.folders, true)).toMatchObject({ copiedCount: 1 });
    await restore({ folders: used.newFolders(), source: target });
  });

  it('is consistent while files are added and deleted', { timeout: 120_000 }, async () => {
    const folders = used.copy();
    const appliance = await openAppliance(loadConfig(environmentOf(folders)));
    const server = await serve(appliance, pino({ level: 'silent' }));
    let isOver = false;
    let turns = 0;
    const churn = async (): Promise<void> => {
      const call = async (method: string, path: string, body?: unknown) =>
        (await ask(server.url + path, method, used.key, body)).body.data;
      while (!isOver) {
        const content = Buffer.from(`turn ${turns}`.repeat(10_000));
        const wanted = { file_name: `churn/${turns % 3}`, size_bytes: content.length };
        const { id } = await call('POST', '/v1/storage/uploads', wanted);
        const { urls } = await call('POST', `/v1/storage/uploads/${id}/part-urls`, { part_numbers: [1] });
        await fetch(urls[0].url, { method: 'PUT', body: content });
        await call('POST', `/v1/storage/uploads/${id}/parts/1/acknowledge`, {});
        await call('POST', `/v1/storage/uploads/${id}/complete`);
        if (turns % 2 === 1) await call('DELETE', '/v1/storage/files?path=churn');
        turns += 1;
      }
    };
    const churning = churn();
    const target = used.place();
    for (let round = 0; round < 3; round += 1) {
      const child = spawn(process.execPath, [main, 'backup', target], {
        env: { ...process.env, ...environmentOf(folders) },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      expect(await once(child, 'exit')).toEqual([0, null]);
      const restored = used.newFolders();
      await restore({ folders: restored, source: target });
      expect((await fsck({ folders: restored, now: new Date() })).findings).toEqual([]);
    }
    isOver = true;
    await churning;
    await server.stop(1_000);
    await appliance.close();
    expect(turns).toBeGreaterThan(3);
  });
});

describe('a restore', () => {
  it('refuses a data folder that is not empty, a damaged backup and one that never ended', async () => {
    const target = used.place();
    await save(target);
    const source = { folders: used.folders, source: target };
    await expect(restore(source)).rejects.toMatchObject({ code: 'data_folder_not_empty' });
    const path = largestFile(join(target, 'bytes'));
    const bytes = readFileSync(path);
    bytes[7]! ^= 1;
    writeFileSync(path, bytes);
    const folders = used.newFolders();
    await expect(restore({ folders, source: target })).rejects.toMatchObject({ code: 'backup_damaged' });
    expect(existsSync(join(folders.dataFolder, 'control'))).toBe(false);
    const manifest = join(target, 'backup.json');
    const text = readFileSync(manifest, 'utf8');
    for (const changed of [
      text.replace('data/control', 'data/../control'),
      text.replace('2026', '2025'),
      '{',
    ]) {
      writeFileSync(manifest, changed);
      await expect(restore({ folders, source: target })).rejects.toMatchObject({ code: 'backup_damaged' });
    }
    unlinkSync(manifest);
    await expect(restore({ folders, source: target })).rejects.toMatchObject({ code: 'backup_not_found' });
  });

  it('resumes after an interruption, and keeps the bytes that are in place', async () => {
    const target = used.place();
    const { fileCount } = await save(target);
    const folders = used.newFolders();
    await restore({ folders, source: target });
    const release = join(largestFile(folders.indexesFolder), '..');
    rmSync(folders.dataFolder, { recursive: true });
    rmSync(release, { recursive: true });
    mkdirSync(join(folders.dataFolder, '.restoring', 'objects'), { recursive: true });
    mkdirSync(join(folders.dataFolder, 'objects', '00'), { recursive: true });
    const report = await restore({ folders, source: target });
    expect(report.knownCount).toBeGreaterThan(3);
    expect(report.knownCount).toBeLessThan(fileCount);
    expect((await fsck({ folders, now: new Date() })).findings).toEqual([]);
  });

  it('overwrites nothing in the indexes folder', async () => {
    const target = used.place();
    await save(target);
    const folders = { ...used.copy(), dataFolder: used.newFolders().dataFolder };
    const path = largestFile(folders.indexesFolder);
    truncateSync(path, 10);
    await expect(restore({ folders, source: target })).rejects.toMatchObject({ code: 'restore_conflict' });
    expect(statSync(path).size).toBe(10);
  });

  it('works on the command line', () => {
    const target = used.place();
    const run = (folders: Folders, ...args: string[]) =>
      spawnSync(process.execPath, [main, ...args], {
        env: { ...process.env, ...environmentOf(folders) },
        encoding: 'utf8',
      });
    expect(run(used.folders, 'backup', target).stdout).toMatch(/^Backed up \d+ files/);
    const folders = used.newFolders();
    expect(run(folders, 'restore', target).stdout).toMatch(/^Restored \d+ files .* as of 20/);
    const refused = run(folders, 'restore', target);
    expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('is not empty')]);
  });
});

function contextOf(organizationId: string) {
  const signal = new AbortController().signal;
  return { requestId: 'req_1', organizationId, keyId: 'key_1', signal, receivedAtMs: 0 };
}
