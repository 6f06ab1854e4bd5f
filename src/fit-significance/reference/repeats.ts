import { repeatShareOf } from '../../search/pairs/repeats.js';
import type { CalibrationCard } from '../../significance/card.js';
import type { RepeatModel } from '../../significance/repeats.js';
import { measureTargets } from '../checkpoints.js';
import type { MeasureAccess } from '../options.js';

/**
 * How repeats lower the coordinates of a reference null. The numbers are chosen on domains of unseen folds, like those
 * of cysteines: propellers and solenoids are few and often homologs, so that a fit to a sample would be noise. The
 * E-value of a pair grows by a factor of 7 or so at most. With profiles the tail falls more slowly, so that the weight
 * is greater.
 */
const REPEATS: RepeatModel = { weight: 70, usualShare: 0.012, largestShare: 0.04 };
const PROFILED_REPEATS: RepeatModel = { weight: 130, usualShare: 0.012, largestShare: 0.035 };

/** Returns the model for releases with or without profiles. */
export function repeatModel(hasProfiles: boolean): RepeatModel {
  return hasProfiles ? PROFILED_REPEATS : REPEATS;
}

/** Returns the model as a card has it. */
export function repeatCard({
  weight,
  usualShare,
  largestShare,
}: RepeatModel): CalibrationCard['pair_null']['repeats'] {
  return { weight, usual_share: usualShare, largest_share: largestShare };
}

/**
 * Measures the repeat share of every target of the release.
 * Shape   [targets of the release]
 * Unit    1
 * Errors  those of the token reader; Fault of the kernels; the signal's reason; those of the file system
 * Cost    an alignment of half of each target with the other half
 */
export async function measureRepeats(
  access: MeasureAccess,
  onTargets: (done: number) => void,
): Promise<Float32Array> {
  const { release, backend, signal, threads } = access;
  const shares = new Float32Array(release.targets.count);
  await measureTargets(access, {
    name: 'repeats',
    inputs: null,
    targetCount: shares.length,
    width: 1,
    measure: async (tokens) => [
      await repeatShareOf(tokens, release.manifest.encoder, backend, { signal, threads }),
    ],
    take: ([share], target) => (shares[target] = share),
    report: onTargets,
  });
  return shares;
}
