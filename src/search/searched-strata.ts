import { stratumOf, type Calibration } from '../significance/calibration.js';
import type { Release, TargetSpace } from '../release/release.js';

/** Eligible targets by length stratum: the population among which E-values count false hits. */
export interface SearchedStrata {
  /** Targets of a calibrated length, by stratum. */
  readonly counts: readonly number[];
  /** All eligible targets. */
  readonly searchedCount: number;
}

/** Counts of each target space. Target spaces are immutable, so that each is counted once. */
const cached = new WeakMap<Calibration, WeakMap<object, SearchedStrata>>();

/** Counts the eligible targets by length stratum, once per target space. */
export function searchedStrata(
  targetSpace: TargetSpace,
  release: Release,
  calibration: Calibration,
): SearchedStrata {
  const spaces = cached.get(calibration) ?? new WeakMap<object, SearchedStrata>();
  cached.set(calibration, spaces);
  // An unfiltered space is a new object in each search. The release is its key instead.
  const key = targetSpace.eligible ?? release;
  const strata = spaces.get(key) ?? countStrata(targetSpace, release, calibration);
  spaces.set(key, strata);
  return strata;
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
