import type { Appliance } from '../../appliance.js';
import { buildDemo, DEMO_SLUG } from '../../demo/demo.js';
import { adoptShippedCalibration } from '../../demo/shipped-calibration.js';
import { buildSimulated, SIMULATED_SLUG, simulatedProteins } from '../../demo/simulated.js';
import { adoptReleases } from '../../pipelines/catalog.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress } from '../terminal/progress.js';

/**
 * Builds the database of a first start: real proteins, or simulated ones whose homologies are known. No-op for an
 * appliance that has a database. The next database replaces it as the default of searches.
 * Errors  those of the build, of the encoder and of the control store
 */
export async function buildFirstDatabase(
  appliance: Appliance,
  { isSimulated }: { readonly isSimulated: boolean },
  { stderr }: CommandContext,
): Promise<void> {
  const { config, releases } = appliance;
  // The folders are authoritative: the catalog may be lost or older.
  const scanned = await adoptReleases(config.indexesFolder, releases);
  if (scanned.releases.length > 0) return;
  const encoder = await appliance.loadEncoder(config.encoder);
  const progress = createProgress(stderr);
  const onProgress = progress.update;
  try {
    const { release } = isSimulated
      ? await buildSimulated(simulatedProteins(), encoder, config.indexesFolder, { onProgress })
      : await buildDemo(encoder, config, onProgress);
    await appliance.storeEncoder(config.encoder);
    const { id, manifest } = release;
    const slug = isSimulated ? SIMULATED_SLUG : DEMO_SLUG;
    const calibrationId = isSimulated
      ? undefined
      : await adoptShippedCalibration(release, config.packageFolder);
    await releases.publish(
      { id, slug, publishedAt: new Date().toISOString(), manifest, ...(calibrationId && { calibrationId }) },
      { isProvisional: true },
    );
  } finally {
    progress.end();
    await encoder.close();
  }
}
