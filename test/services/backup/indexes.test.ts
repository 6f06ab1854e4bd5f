import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { backup } from '#src/services/backup/backup.js';
import { fsck } from '#src/services/backup/fsck.js';
import { restore } from '#src/services/backup/restore.js';
import { openControlStore } from '#src/store/control-store.js';
import { ReleaseTable } from '#src/store/tables/releases.js';
import { filesBelow, useAppliance, type Folders, type UsedAppliance } from './used-appliance.js';

const now = new Date('2026-01-02T03:04:05.000Z');

let used: UsedAppliance;
beforeAll(async () => {
  used = await useAppliance();
}, 120_000);
afterAll(() => used.end());

const save = (target: string, folders = used.folders) => backup({ folders, target, now });

describe('a backup of the indexes folder', () => {
  it('follows symbolic links to databases and encoders, but not in a circle', async () => {
    const folders = used.copy();
    const otherDisk = used.place();
    mkdirSync(otherDisk);
    for (const name of readdirSync(folders.indexesFolder)) {
      renameSync(join(folders.indexesFolder, name), join(otherDisk, name));
      symlinkSync(join(otherDisk, name), join(folders.indexesFolder, name));
    }
    symlinkSync('.', join(otherDisk, 'encoders', 'circle'));
    const target = used.place();
    await save(target, folders);
    const restored = used.newFolders();
    await restore({ folders: restored, source: target });
    const names = filesBelow(restored.indexesFolder);
    expect(names.filter((name) => !name.includes('/circle/'))).toEqual(
      filesBelow(used.folders.indexesFolder),
    );
    expect(names.filter((name) => name.includes('/circle/circle/'))).toEqual([]);
    expect((await fsck({ folders, now: new Date() })).findings).toEqual([]);
  });

  it('is refused without a calibration or an encoder of a release, and the earlier one stays', async () => {
    const target = used.place();
    await save(target);
    const contents = () => [
      readFileSync(join(target, 'backup.json'), 'utf8'),
      ...filesBelow(join(target, 'bytes')),
    ];
    const before = contents();
    const release = filesBelow(used.folders.indexesFolder)
      .find((name) => name.endsWith('/manifest.json'))!
      .replace('/manifest.json', '');
    const [slug, id] = release.split('/') as [string, string];
    const lose = async (lost: string, damage: (folders: Folders) => unknown) => {
      const folders = used.copy();
      await damage(folders);
      await expect(save(target, folders), lost).rejects.toMatchObject({
        code: 'backup_source_damaged',
        message: expect.stringContaining(join('indexes', lost)),
      });
      expect(contents()).toEqual(before);
    };
    await lose(`${release}.calibration/card.json`, async ({ dataFolder, indexesFolder }) => {
      const store = openControlStore(dataFolder);
      await new ReleaseTable(store).nameCalibration(id, slug, 'calib_lost');
      await store.close();
      rmSync(join(indexesFolder, `${release}.calibration`), { recursive: true });
    });
    await lose(`${release}.calibration`, ({ indexesFolder }) =>
      rmSync(join(indexesFolder, `${release}.calibration`, 'targets.arrow')),
    );
    await lose('encoders/.kept', ({ indexesFolder }) => {
      const [digest] = readdirSync(join(indexesFolder, 'encoders', '.kept'));
      rmSync(join(indexesFolder, 'encoders', '.kept', digest!, 'card.json'));
    });
    await lose('encoders/baseline-1', (folders) => {
      rmSync(join(folders.indexesFolder, 'encoders'), { recursive: true });
      // No encoder is shipped there.
      Object.assign(folders, { packageFolder: folders.dataFolder });
    });
    await restore({ folders: used.newFolders(), source: target });
  });
});
