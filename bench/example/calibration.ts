import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Appliance } from '../../src/appliance.js';
import { DEMO_SLUG } from '../../src/demo/demo.js';
import { MEASURED_FILE, shippedDirectory } from '../../src/demo/shipped-calibration.js';
import { assert } from '../../src/errors.js';
import { releaseDirectory } from '../../src/release/catalog.js';
import { calibrationDirectory, CARD_FILE } from '../../src/significance/card.js';
import { readCalibrationCard } from '../../src/significance/sidecar.js';

/** Copies the calibration of the demo, and the members of its manifest that the calibration depends on. */
export async function copyCalibration({
  config,
  releases,
}: Appliance): Promise<Readonly<Record<string, unknown>>> {
  const database = releases.database(DEMO_SLUG);
  assert(database !== undefined, 'the indexes folder has the database demo');
  const directory = releaseDirectory(config.indexesFolder, DEMO_SLUG, database.defaultReleaseId);
  const card = await readCalibrationCard(directory);
  assert(card !== undefined, 'the demo is calibrated');
  const into = `${shippedDirectory(config.packageFolder)}.calibration`;
  await mkdir(into, { recursive: true });
  for (const file of [CARD_FILE, card.files.targets.path, card.files.basis.path]) {
    await cp(join(calibrationDirectory(directory), file), join(into, file));
  }
  const manifest = releases.release(database.defaultReleaseId, DEMO_SLUG)?.manifest;
  assert(manifest !== undefined, 'a database has its default release');
  const { files, encoder, affine, relatives, policies } = manifest;
  const { targets, tokens, profiles } = files;
  const measured = { files: { targets, tokens, profiles }, encoder, affine, relatives, policies };
  await writeFile(join(into, MEASURED_FILE), `${JSON.stringify(measured, undefined, 2)}\n`);
  return { calibration: into };
}
