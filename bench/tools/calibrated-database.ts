import type { Appliance } from '../../src/appliance.js';
import { calibrateRelease } from '../../src/fit-significance/fit-significance.js';
import { openCalibration } from '../../src/significance/sidecar.js';
import type { BuildHomologs } from '../../src/build-release/build-options.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import { buildBenchDatabase } from './database.js';
import type { BenchProtein } from './proteins.js';

/**
 * Builds, or reuses, a database of these proteins with its own calibration, and opens it.
 * @param buildHomologs  finder of homologs; absent for a release without profiles
 * Errors  those of `buildBenchDatabase` and `calibrateRelease`
 */
export async function openCalibrated(
  appliance: Appliance,
  targets: readonly BenchProtein[],
  slug: string,
  folder: string,
  buildHomologs?: BuildHomologs,
): Promise<SearchEngine> {
  const plain = await buildBenchDatabase(appliance, targets, slug, folder, buildHomologs);
  const { release, backend, store, encoder } = plain;
  const identity = { id: release.id, targetCount: release.targets.count };
  const ready = await openCalibration(release.directory, identity);
  if (ready !== undefined) return { ...plain, calibration: ready };
  const startedMs = performance.now();
  const { threads } = appliance.config;
  const { bins } = await calibrateRelease({ release, backend, store, encoder, threads });
  const qualified = bins.filter(({ status }) => status === 'qualified').length;
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  console.log(
    `${slug}: ${targets.length} domains calibrated in ${seconds} s, ${qualified} of ${bins.length} bins qualified`,
  );
  return { ...plain, calibration: await openCalibration(release.directory, identity) };
}
