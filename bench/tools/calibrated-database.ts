import type { Appliance } from '../../src/appliance.js';
import type { BuildHomologs } from '../../src/build-release/build-options.js';
import { findEncoder } from '../../src/encoder/find.js';
import { calibrateByReference, isOfReference } from '../../src/fit-significance/reference/calibrate.js';
import { calibrateRelease } from '../../src/fit-significance/fit-significance.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import type { CalibrationCard } from '../../src/significance/card.js';
import { openReferenceNull } from '../../src/significance/reference-null.js';
import { openCalibration } from '../../src/significance/sidecar.js';
import { buildBenchDatabase } from './database.js';
import type { BenchProtein } from './proteins.js';

/**
 * Builds, or reuses, a calibrated database of these proteins, and opens it. The null is the reference of the encoder,
 * as in `gloaming index build`, or a null of its own if the environment variable GLOAMING_BENCH_OWN_NULL is set.
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
  const { release } = plain;
  const identity = { id: release.id, targetCount: release.targets.count };
  const ready = await openCalibration(release.directory, identity);
  if (ready !== undefined) return { ...plain, calibration: ready };
  const before = process.cpuUsage();
  const card = await calibrateBench(appliance, plain);
  const { user, system } = process.cpuUsage(before);
  console.log(
    `${slug}: ${targets.length} proteins calibrated in ${((user + system) / 1e6).toFixed(1)} s of processor time, ` +
      describeNull(card),
  );
  return { ...plain, calibration: await openCalibration(release.directory, identity) };
}

/**
 * Calibrates an open release as a build does.
 * Errors  those of `calibrateByReference` and `calibrateRelease`
 */
export async function calibrateBench(
  { config }: Pick<Appliance, 'config'>,
  engine: SearchEngine,
): Promise<CalibrationCard> {
  const { release } = engine;
  const options = { ...engine, threads: config.threads };
  const { encoder, affine } = release.manifest;
  const reference =
    process.env.GLOAMING_BENCH_OWN_NULL === undefined
      ? await openReferenceNull(await findEncoder(encoder.id, config), affine.profile !== undefined)
      : undefined;
  if (reference !== undefined && isOfReference(release, reference)) {
    const outcome = await calibrateByReference(options, reference);
    if (outcome.kind === 'calibrated') return outcome.card;
  }
  return calibrateRelease(options);
}

function describeNull({ bins, reference }: CalibrationCard): string {
  if (reference === undefined) {
    const qualified = bins.filter(({ status }) => status === 'qualified').length;
    return `with a null of its own, ${qualified} of ${bins.length} bins qualified`;
  }
  const { log_level: level, log_level_error: error, holdout } = reference;
  return (
    `by the reference null: level ${Math.exp(level).toFixed(3)} within a factor of ${Math.exp(error).toFixed(2)}, ` +
    `hold-out ${holdout.status}`
  );
}
