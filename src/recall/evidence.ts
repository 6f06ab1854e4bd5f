import { verifyCodebook } from './codebook-sidecar.js';
import { openQualification, readPolicyCard, type Qualification } from './policy-sidecar.js';
import { openCalibration, readCalibrationCard, verifyCalibration } from '../significance/sidecar.js';
import type { Calibration } from '../significance/calibration.js';

/** What has been measured of a release, as it lies beside it; undefined where it has not. */
export interface Evidence {
  readonly calibration: Calibration | undefined;
  readonly qualification: Qualification | undefined;
}

/** Opens both; a policy holds beside the calibration that it was qualified with. Errors  those of the two */
export async function openEvidence(
  directory: string,
  release: { readonly id: string; readonly targetCount: number },
): Promise<Evidence> {
  const calibration = await openCalibration(directory, release);
  const known = { releaseId: release.id, calibrationId: calibration?.id };
  return { calibration, qualification: await openQualification(directory, known) };
}

/**
 * Recomputes every digest of a release's calibration and of its approximate policy. Returns one sentence for each
 * problem. An unreadable calibration card hides the policy's problems, because the policy holds for that card.
 * Errors  none for damage; an empty list means intact or absent evidence
 */
export async function verifyEvidence(releaseDirectory: string): Promise<readonly string[]> {
  const card = await readCalibrationCard(releaseDirectory).catch((cause: Error) => cause);
  if (card instanceof Error) return [card.message];
  const policy = await readPolicyCard(releaseDirectory)
    .then((policyCard) => verifyCodebook(releaseDirectory, policyCard))
    .catch((cause: Error) => [cause.message]);
  return [...policy, ...(await verifyCalibration(releaseDirectory))];
}
