import { Refusal } from '../../errors.js';
import { compileFilter } from '../../release/filter/filter.js';
import type { Release, TargetSpace } from '../../release/release.js';
import { nearestPartial } from '../../search/exhaustive.js';
import { sweptPartial } from '../../search/prefiltered.js';
import { scanEncoded, targetRanges, type PartialResult } from '../../search/partitions/scan.js';
import { encode } from '../../search/encode.js';
import type { RequestContext } from '../context.js';
import type { Catalog } from '../search/catalog.js';
import type { Engines } from '../../engine/engines.js';
import { readProteinQuery } from '../search/protein-query.js';
import type { TargetSpaces } from '../search/target-spaces.js';
import type { PartialResultRequest } from './partial-result-request.js';

/** The service of a worker for coordinators. */
export interface PartitionResults {
  /**
   * Returns the partial results of some queries in one partition of a release. The request must have passed its schema.
   * Errors  Refusal `release_not_found`, `permission_denied`, `invalid_filter`; `validation_failed` for a partition
   *         that does not exist; `kernels_changed` for kernels of another version; those of invalid queries; Faults of
   *         files, encoder and kernels; the signal's reason
   */
  partialResult(request: PartialResultRequest, context: RequestContext): Promise<readonly PartialResult[]>;
}

export interface PartitionResultsDependencies {
  readonly catalog: Pick<Catalog, 'release'>;
  readonly engines: Pick<Engines, 'open'>;
  readonly targetSpaces: Pick<TargetSpaces, 'unfiltered' | 'reopenInTurns'>;
}

export function createPartitionResults({
  catalog,
  engines,
  targetSpaces,
}: PartitionResultsDependencies): PartitionResults {
  return {
    async partialResult(request, { organizationId, signal }) {
      const { part, part_count: count, filter, limit, sampled, is_background: isLowPriority } = request;
      if (part > count) {
        throw new Refusal('validation_failed', `Part ${part} of ${count} does not exist.`, { param: 'part' });
      }
      const queries = request.sequences.map((sequence) => readProteinQuery(sequence));
      const { releaseId } = catalog.release(request.release_id, organizationId, 'release_id');
      const engine = await engines.open(releaseId, { index: part - 1, count });
      const { release, backend, threads } = engine;
      if (backend.version !== request.kernels_version) {
        throw new Refusal(
          'kernels_changed',
          `This worker has kernels ${backend.version}, and the coordinator has ${request.kernels_version}. ` +
            'Install the same version on all machines.',
        );
      }
      const targetSpace =
        filter === null
          ? targetSpaces.unfiltered(release)
          : await filteredSpace(release, filter, targetSpaces, signal);
      const encoded = await encode(queries, request, engine, { signal });
      const partial =
        sampled === null
          ? nearestPartial(limit)
          : sweptPartial({ nearestCount: sampled.nearest_count, localCount: sampled.striking_count });
      const settings = { targetSpace, partial };
      const range = targetRanges(release, count)[part - 1];
      return scanEncoded(encoded, settings, range, engine, { signal, threads, isLowPriority });
    },
  };
}

/** Errors  Refusal `invalid_filter`; the signal's reason */
function filteredSpace(
  release: Release,
  filter: unknown,
  targetSpaces: Pick<TargetSpaces, 'reopenInTurns'>,
  signal: AbortSignal,
): Promise<TargetSpace> {
  const { predicate } = compileFilter(filter, release.fields, { place: ['filter'], isCanonical: true });
  return targetSpaces.reopenInTurns(release, predicate, signal);
}
