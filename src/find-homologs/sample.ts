import type { HomologFinder } from '../homologs/finder.js';
import type { TargetTable } from '../release/release.js';

/** What a few proteins of a release show of all. */
export interface HomologsSample {
  readonly proteins: number;
  /** Those of them that have a relative at all. */
  readonly related: number;
  /** What looking for those of all proteins takes at the rate of these. Unit: ms */
  readonly allMs: number;
}

/**
 * Looks for the relatives of evenly spread targets of a release: equal releases show equal numbers of them.
 * Errors  the finder's, or the signal's reason
 */
export async function sampleHomologs(
  targets: TargetTable,
  finder: HomologFinder,
  count: number,
  signal?: AbortSignal,
): Promise<HomologsSample> {
  const proteins = Math.min(count, targets.count);
  const sampled = Array.from({ length: proteins }, (_, at) => {
    const sequence = targets.sequence(Math.floor((at * targets.count) / proteins));
    return { sequence };
  });
  const startedMs = performance.now();
  let related = 0;
  for (let start = 0; start < proteins; start += finder.batchProteins) {
    const homologSets = await finder.find(sampled.slice(start, start + finder.batchProteins), { signal });
    related += homologSets.filter(({ homologs }) => homologs.length > 0).length;
  }
  const perProteinMs = (performance.now() - startedMs) / Math.max(1, proteins);
  return { proteins, related, allMs: perProteinMs * targets.count };
}
