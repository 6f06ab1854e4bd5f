import { openQualification, type Qualification } from './policy-sidecar.js';
import { openCalibration } from './sidecar.js';
import type { Calibration } from './calibration.js';

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
