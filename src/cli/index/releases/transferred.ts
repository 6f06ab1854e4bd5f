import { transferCalibration, type MeasuredRelease } from '../../../fit-significance/transfer.js';
import { calibrationId } from '../../../significance/card.js';
import { qualificationId } from '../../../recall/policy-card.js';
import { scanReleases } from '../../../release/catalog.js';
import { shortId, type IndexCatalog } from '../catalog.js';

/**
 * Gives a release the calibration of an identically measured release and names it in the catalog. Returns undefined
 * when there is no such release. A later calibration of the release replaces it. The rule is in transfer.ts.
 */
export async function transferMeasured(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  release: MeasuredRelease,
  slug: string,
): Promise<string | undefined> {
  const { releases } = await scanReleases(config.indexesFolder);
  const transferred = await transferCalibration(release, releases);
  if (transferred === undefined) return undefined;
  const { calibration, policy, from } = transferred;
  await table.nameCalibration(release.id, slug, calibrationId(calibration));
  if (policy !== undefined) await table.nameQualification(release.id, slug, qualificationId(policy));
  const kept = policy === undefined ? 'calibration' : 'calibration and policy';
  return `It keeps the ${kept} of ${shortId(from.id)}, whose proteins and tokens are the same.\n`;
}
