import { verifyCodebook } from './codebook-sidecar.js';
import { openQualification, readPolicyCard, type Qualification } from './policy-sidecar.js';
import { openCalibration, readCalibrationCard, verifyCalibration } from '../significance/sidecar.js';
import type { Calibration } from '../significance/calibration.js';

/** The calibration and the qualified policy of a release. Each is undefined if the release has none. */
export interface Evidence {
  readonly calibration: Calibration | undefined;
  readonly qualification: Qualification | undefined;
}

/**
 * Opens calibration and policy of a release. The policy is valid only with the calibration that it was measured with.
 * Errors  those of `openCalibration` and `openQualification`
 */
export async function openEvidence(
  directory: string,
  release: { readonly id: string; readonly targetCount: number },
): Promise<Evidence> {
  const calibration = await openCalibration(directory, release);
  const identity = { releaseId: release.id, calibrationId: calibration?.id };
  return { calibration, qualification: await openQualification(directory, identity) };
}

/**
 * Recomputes every digest of a release's calibration and approximate policy. Returns a message for each problem; an
 * empty list means that both are intact or absent. If the calibration card is unreadable, the policy is not checked,
 * because it is valid only with that card.
 * Errors  none for damaged or missing files
 */
export async function verifyEvidence(releaseDirectory: string): Promise<readonly string[]> {
  const card = await readCalibrationCard(releaseDirectory).catch((cause: Error) => cause);
  if (card instanceof Error) return [card.message];
  const policy = await readPolicyCard(releaseDirectory)
    .then((policyCard) => verifyCodebook(releaseDirectory, policyCard))
    .catch((cause: Error) => [cause.message]);
  return [...policy, ...(await verifyCalibration(releaseDirectory))];
}
