import { stratumOf, type Calibration } from '../significance/calibration.js';
import type { Release, TargetSpace } from '../release/release.js';
import type { SearchedPopulation } from './pairs/candidate-significance.js';

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
function searchedStrata(
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

/**
 * Counts the targets that can have a tail probability with a query of this length.
 * @param queryLength  unit: residues
 */
export function populationOf(
  queryLength: number,
  targetSpace: TargetSpace,
  release: Release,
  calibration: Calibration,
): SearchedPopulation {
  const bins = calibration.bins[stratumOf(queryLength, calibration.card.stratum_edges)];
  const { counts, searchedCount } = searchedStrata(targetSpace, release, calibration);
  let judged = 0;
  let strataCount = 0;
  counts.forEach((count, stratum) => {
    if (count === 0 || bins[stratum].card.status !== 'qualified') return;
    judged += count;
    strataCount += 1;
  });
  return {
    id: targetSpace.id ?? targetSpace.releaseId,
    targetCount: targetSpace.searchedTargetCount,
    residueCount: targetSpace.searchedResidueCount,
    count: judged,
    logCount: Math.log(judged),
    strataCount,
    isComplete: judged === searchedCount,
  };
}

/** E-values of the returned population count false hits among so many targets, as if all of them were calibrated. */
export function ofSize(searched: SearchedPopulation, databaseSize: number): SearchedPopulation {
  return { ...searched, count: databaseSize, logCount: Math.log(databaseSize), isComplete: true };
}
