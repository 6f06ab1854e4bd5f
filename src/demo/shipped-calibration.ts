import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transferCalibration, type MeasuredRelease } from '../fit-significance/transfer.js';
import type { FoundRelease } from '../release/catalog.js';
import type { ReleaseManifest } from '../release/release.js';
import { calibrationId } from '../significance/card.js';
import { examplesFolder } from './demo.js';

/*
 * The calibration that ships with the demo, so that its first search has E-values. It holds for a release with the
 * tokens that it was measured on. Another encoder gives others, and a processor of another kind may round otherwise;
 * such a release is calibrated in the background. `npm run bench -- example calibration` copies the files.
 *
 * This file and the shipped files can go when a build calibrates 2,000 proteins in a few seconds.
 */

/** Name of the shipped release. Its calibration is in the folder `demo.calibration` beside it. */
const SHIPPED = 'demo';
/** Members of the manifest that a calibration depends on, in the folder of the calibration. */
export const MEASURED_FILE = 'measured.json';

/** Returns the shipped calibration as that of a release whose other files are absent. */
export function shippedDirectory(packageFolder: string): string {
  return join(examplesFolder(packageFolder), SHIPPED);
}

/**
 * Gives the demo the shipped calibration if it was measured on equal tokens. Returns the id of the calibration;
 * undefined if there is none for these tokens.
 * Errors  those of reading and copying the files
 */
export async function adoptShippedCalibration(
  release: FoundRelease,
  packageFolder: string,
): Promise<string | undefined> {
  const directory = shippedDirectory(packageFolder);
  const path = join(`${directory}.calibration`, MEASURED_FILE);
  if (!existsSync(path)) return undefined;
  const text = await readFile(path, 'utf8');
  const shipped: MeasuredRelease = { id: SHIPPED, directory, manifest: JSON.parse(text) as ReleaseManifest };
  const transferred = await transferCalibration(release, [shipped]);
  return transferred && calibrationId(transferred.calibration);
}
