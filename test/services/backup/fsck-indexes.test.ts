import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_SLUG } from '#src/demo/demo.js';
import { fsck } from '#src/services/backup/fsck.js';
import { openControlStore } from '#src/store/control-store.js';
import { ReleaseTable } from '#src/store/tables/releases.js';
import { useAppliance, type Folders, type UsedAppliance } from './used-appliance.js';

/* Files of the indexes folder that no other file names: the catalog does, or a release needs them after an update. */

let used: UsedAppliance;
beforeAll(async () => {
  used = await useAppliance();
}, 120_000);
afterAll(() => used.end());

async function findingsIn(
  folders: Folders,
): Promise<readonly [kind: string, subject: string, message: string][]> {
  const { findings } = await fsck({ folders, now: new Date() });
  return findings.map(({ kind, subject, message }) => [kind, subject, message]);
}

/** The release of the appliance. Its folder is below the indexes folder. */
function releaseOf({ indexesFolder }: Folders): { readonly id: string; readonly directory: string } {
  const id = readdirSync(join(indexesFolder, DEMO_SLUG)).find((name) => /^dbr_[0-9a-f]{64}$/.test(name))!;
  return { id, directory: join(indexesFolder, DEMO_SLUG, id) };
}

/** Names a calibration and a policy in the catalog, as a measurement does. */
async function nameEvidence(folders: Folders): Promise<void> {
  const store = openControlStore(folders.dataFolder);
  const table = new ReleaseTable(store);
  const { id } = releaseOf(folders);
  await table.nameCalibration(id, DEMO_SLUG, 'calib_lost');
  await table.nameQualification(id, DEMO_SLUG, 'qual_lost');
  await store.close();
}

describe('fsck', () => {
  it('finds that the calibration is lost which the catalog names, its card, or the card of its policy', async () => {
    const folders = used.copy();
    await nameEvidence(folders);
    const { id, directory } = releaseOf(folders);
    const calibration = `${directory}.calibration`;
    const lost = (file: string) => [
      'calibration_damaged',
      `${DEMO_SLUG}/${id}.calibration`,
      `${join(calibration, file)} does not exist.`,
    ];
    expect(await findingsIn(folders)).toEqual([lost('policy.json')]);
    rmSync(join(calibration, 'card.json'));
    expect(await findingsIn(folders)).toEqual([lost('card.json'), lost('policy.json')]);
    rmSync(calibration, { recursive: true });
    expect(await findingsIn(folders)).toEqual([lost('card.json'), lost('policy.json')]);
    rmSync(directory, { recursive: true });
    expect((await findingsIn(folders)).map(([kind]) => kind)).toEqual(['release_missing']);
  });

  it.each(['.onnx', 'card.json'])('finds that the %s of a kept encoder is gone', async (suffix) => {
    const folders = used.copy();
    const kept = join(folders.indexesFolder, 'encoders', '.kept');
    const directory = join(kept, readdirSync(kept)[0]!);
    rmSync(
      join(
        directory,
        readdirSync(directory).find((name) => name.endsWith(suffix))!,
      ),
    );
    expect(await findingsIn(folders)).toEqual([['encoder_copy_damaged', directory, expect.any(String)]]);
  });
});
