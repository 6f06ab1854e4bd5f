import { carryCalibration, type MeasuredRelease } from '../../../calibrate/carry/carry.js';
import { calibrationId } from '../../../calibration/card.js';
import { qualificationId } from '../../../calibration/policy-card.js';
import { scanReleases } from '../../../release/catalog.js';
import { shortId, type IndexCatalog } from '../catalog.js';

/**
 * Gives a release the calibration of one that is measured alike (calibrate/carry/ says when) and names it in the
 * catalog; undefined where there is none, and it has to be measured. Whoever calibrates a release later replaces it.
 */
export async function carryMeasured(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  release: MeasuredRelease,
  slug: string,
): Promise<string | undefined> {
  const { releases } = await scanReleases(config.indexesFolder);
  const carried = await carryCalibration(release, releases);
  if (carried === undefined) return undefined;
  const { calibration, policy, from } = carried;
  await table.nameCalibration(release.id, slug, calibrationId(calibration));
  if (policy !== undefined) await table.nameQualification(release.id, slug, qualificationId(policy));
  const kept = policy === undefined ? 'calibration' : 'calibration and policy';
  return `It keeps the ${kept} of ${shortId(from.id)}, whose proteins and tokens are the same.\n`;
}
