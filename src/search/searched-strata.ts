import { stratumOf, type Calibration } from '../significance/calibration.js';
import type { Release, TargetSpace } from '../release/release.js';

/** Eligible targets by length stratum: the searched population that false hits are expected in. */
export interface SearchedStrata {
  /** Targets of a calibrated length, by stratum. */
  readonly counts: readonly number[];
  /** All eligible targets. */
  readonly searchedCount: number;
}

/** Target spaces are immutable values, so that each is counted once, not with every query. */
const known = new WeakMap<Calibration, WeakMap<object, SearchedStrata>>();

export function searchedStrata(
  targetSpace: TargetSpace,
  release: Release,
  calibration: Calibration,
): SearchedStrata {
  const spaces = known.get(calibration) ?? new WeakMap<object, SearchedStrata>();
  known.set(calibration, spaces);
  // An unfiltered space is made anew for each search; what it stands for is the release.
  const key = targetSpace.eligible ?? release;
  const found = spaces.get(key) ?? countStrata(targetSpace, release, calibration);
  spaces.set(key, found);
  return found;
}

function countStrata(
  { eligible, searchedTargetCount }: TargetSpace,
  { targets }: Release,
  { card }: Calibration,
): SearchedStrata {
  const { target_minimum_residues: minimum, target_maximum_residues: maximum } = card.supported;
  const counts = new Array<number>(card.stratum_edges.length + 1).fill(0);
  for (let position = 0; position < searchedTargetCount; position += 1) {
    const length = targets.length(eligible === undefined ? position : eligible[position]);
    if (length >= minimum && length <= maximum) counts[stratumOf(length, card.stratum_edges)] += 1;
  }
  return { counts, searchedCount: searchedTargetCount };
}
