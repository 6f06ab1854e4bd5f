import type { KernelOptions, MaxSimSums, QueryTokens } from '../kernels/kernels.js';
import type { TargetSpace } from '../release/release.js';
import type { SearchEngine } from './search-types.js';

/**
 * MaxSim sums of each query with the calibration's panel, in panel order; undefined without a calibration.
 * Cost  none where the whole release was searched, which the panel is a part of; else one small search
 */
export async function panelSums(
  queries: readonly QueryTokens[],
  found: readonly MaxSimSums[],
  targetSpace: TargetSpace,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly MaxSimSums[] | undefined> {
  if (engine.calibration === undefined) return undefined;
  if (targetSpace.eligible !== undefined) return measurePanel(queries, engine, options);
  const { panel } = engine.calibration;
  return found.map(({ queryToTarget, targetToQuery }) => ({
    queryToTarget: Int32Array.from(panel, (target) => queryToTarget[target]),
    targetToQuery: Int32Array.from(panel, (target) => targetToQuery[target]),
  }));
}

/** The same where the release has not just been searched; undefined without a calibration. */
export async function measurePanel(
  queries: readonly QueryTokens[],
  { backend, store, calibration }: SearchEngine,
  options: KernelOptions,
): Promise<readonly MaxSimSums[] | undefined> {
  return calibration && backend.maxsim(store, queries, calibration.panel, options);
}
