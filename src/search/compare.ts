import type { KernelOptions, MaxSimSums, QueryTokens } from '../kernels/kernels.js';
import { measurePanel, panelSums } from './panel-sums.js';
import type { SearchEngine, SearchRequest } from './search-types.js';

/** One query's sums, before they are ranked. */
export interface Compared {
  /** What the sums are of, ascending; undefined for all targets of the release. */
  readonly targets: Uint32Array | undefined;
  readonly sums: MaxSimSums;
  /** Sums with the calibration's panel, for the judge; absent where nothing is judged. */
  readonly panel?: MaxSimSums;
}

/**
 * Compares each query with all eligible targets. A backend that chooses on its device gives the sums of those that can
 * be among the best only, so that a release's worth of sums never travels; the ranking of both is the same.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function compare(
  queries: readonly QueryTokens[],
  { targetSpace, limit, significance }: Pick<SearchRequest, 'targetSpace' | 'limit' | 'significance'>,
  engine: SearchEngine,
  options: KernelOptions,
): Promise<readonly Compared[]> {
  const { backend, store } = engine;
  const { eligible } = targetSpace;
  const isJudged = significance !== 'not_requested';
  if (backend.nearest === undefined) {
    const found = await backend.maxsim(store, queries, eligible, options);
    const panels = isJudged ? await panelSums(queries, found, targetSpace, engine, options) : undefined;
    return found.map((sums, query) => ({ targets: eligible, sums, panel: panels?.[query] }));
  }
  const found = await backend.nearest(store, queries, eligible, limit, options);
  const panels = isJudged ? await measurePanel(queries, engine, options) : undefined;
  return found.map(({ targets, ...sums }, query) => ({ targets, sums, panel: panels?.[query] }));
}
