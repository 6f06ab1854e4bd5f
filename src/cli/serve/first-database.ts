import type { Appliance } from '../../appliance.js';
import { buildDemo, DEMO_SLUG } from '../../demo/demo.js';
import { buildSimulated, SIMULATED_SLUG, simulatedProteins } from '../../demo/simulated.js';
import { calibrateBuilt } from '../../pipelines/calibrate.js';
import { adoptReleases } from '../../pipelines/catalog.js';
import { hasReferenceNull } from '../../pipelines/reference-null.js';
import type { CommandContext } from '../terminal/command.js';
import { createProgress } from '../terminal/progress.js';

/**
 * Builds the database of a first start: real proteins with E-values, or simulated ones whose homologies are known. Does
 * nothing for an appliance that has a database. The next database replaces it as the default of searches.
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
    await releases.publish(
      { id, slug, publishedAt: new Date().toISOString(), manifest },
      { isProvisional: true },
    );
    // A null of its own would take minutes before the server answers (later-calibration.ts).
    if (isSimulated || !(await hasReferenceNull(config.encoder, config))) return;
    const catalog = { config, table: releases };
    await calibrateBuilt(catalog, { ...release, slug }, { config, encoder }, { onProgress });
  } finally {
    progress.end();
    await encoder.close();
  }
}
