import { transferCalibration, type MeasuredRelease } from '../fit-significance/transfer.js';
import { qualificationId } from '../recall/policy-card.js';
import { scanReleases } from '../release/catalog.js';
import { calibrationId } from '../significance/card.js';
import type { IndexCatalog } from './catalog.js';
import type { TransferredEvidence } from './events/notices.js';

/**
 * Gives a release the calibration of an identically measured release and names it in the catalog. Returns undefined
 * when there is no such release. A later calibration of the release replaces it.
 * Errors  those of transferCalibration and of the control store
 */
export async function transferMeasured(
  { config, table }: Pick<IndexCatalog, 'config' | 'table'>,
  release: MeasuredRelease,
  slug: string,
): Promise<TransferredEvidence | undefined> {
  const { releases } = await scanReleases(config.indexesFolder);
  const transferred = await transferCalibration(release, releases);
  if (transferred === undefined) return undefined;
  const { calibration, policy, from } = transferred;
  await table.nameCalibration(release.id, slug, calibrationId(calibration));
  if (policy !== undefined) await table.nameQualification(release.id, slug, qualificationId(policy));
  return { from: from.id, hasPolicy: policy !== undefined };
}
