import { Refusal } from '../errors.js';
import type { CandidateSignificance, SignificanceRequirement } from './search-types.js';

/**
 * Judgement of every candidate of a release that has no qualified calibration: what was not measured is not claimed.
 * Errors  Refusal `significance_unavailable` where significance is required; asked before any work is done
 */
export function judgeWithoutCalibration(requirement: SignificanceRequirement): CandidateSignificance {
  if (requirement === 'required') {
    throw new Refusal(
      'significance_unavailable',
      'Significance is required, but this release has no qualified calibration. ' +
        'Ask with significance "if_available", or calibrate the release first.',
      { param: 'significance', reason: 'no_qualified_calibration' },
    );
  }
  return requirement === 'not_requested'
    ? { status: 'not_requested', reason: 'not_requested', measurements: {} }
    : { status: 'not_available', reason: 'no_qualified_calibration', measurements: {} };
}
