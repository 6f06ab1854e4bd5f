import type { HomologFinder } from '../homologs/finder.js';
import type { TargetTable } from '../release/release.js';

/** Result of a homolog search with a sample of a release's proteins. */
export interface HomologsSample {
  /** Proteins in the sample. */
  readonly proteins: number;
  /** Proteins of the sample with at least one homolog. */
  readonly related: number;
  /** Estimated time of the search with all proteins of the release. Unit: ms */
  readonly allMs: number;
}

/**
 * Searches homologs of targets at even distances in a release. Counts are reproducible for equal releases.
 * Errors  those of the finder; the signal's reason
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
