import type { HomologyRequest } from '../../contract/search/homology.js';
import { Refusal } from '../../errors.js';
import { ALIGNMENTS_COUNT, ALIGNMENTS_EXPECTED_FALSE_HITS } from '../../limits.js';
import type { TargetSpace } from '../../release/release.js';
import type { AlignmentBounds, SearchEngine, SearchSettings } from '../../search/search-types.js';
import {
  probabilitySourceOf,
  refuseVainDatabaseSize,
  refuseWithoutProbability,
} from '../../search/refusals.js';
import type { Catalog, CatalogRelease } from './catalog.js';
import type { RequestContext } from '../context.js';
import type { Engines } from '../../engine/engines.js';
import type { TargetSpaces } from './target-spaces.js';

/** Members of a request besides its queries. Direct searches and runs share them. */
export type SearchWire = Omit<HomologyRequest, 'query'>;

export interface ResolveDependencies {
  readonly catalog: Catalog;
  readonly engines: Engines;
  readonly targetSpaces: TargetSpaces;
}

/** Target and settings of a search, before any work. */
export interface ResolvedSearch {
  readonly release: CatalogRelease;
  readonly engine: SearchEngine;
  readonly settings: SearchSettings;
}

/**
 * Resolves database, release and target space of a request.
 * Errors  the refusals of catalog, target spaces and filters; Faults of files and encoder; the signal's reason
 */
export async function resolveSearch(
  wire: SearchWire,
  context: RequestContext,
  dependencies: ResolveDependencies,
): Promise<ResolvedSearch> {
  const bounds = alignmentBoundsOf(wire);
  const { release, targetSpaceOf } = selectRelease(wire, context, dependencies);
  const engine = await dependencies.engines.open(release.releaseId);
  const targetSpace = await targetSpaceOf(engine);
  const { limit, evidence, guarantee, significance, relatives: homologs, database_size: databaseSize } = wire;
  const { probability, query_range: queryRange } = wire;
  refuseVainDatabaseSize({ significance, databaseSize }, engine.calibration !== undefined);
  refuseWithoutProbability({ significance, probability }, probabilitySourceOf(engine));
  const { startDeadlineMs } = context;
  const settings = { targetSpace, limit, evidence, guarantee, significance, relatives: homologs };
  return {
    release,
    engine: { ...engine, startDeadlineMs },
    settings: {
      ...settings,
      ...(bounds && { alignments: bounds }),
      ...(databaseSize !== undefined && { databaseSize }),
      ...(probability !== undefined && { probability }),
      ...(queryRange !== undefined && { queryRange }),
    },
  };
}

/**
 * Returns the bounds of further alignments, with their defaults; undefined if the request asks for none.
 * Errors  Refusal `significance_unavailable` if the search has no alignments or no E-values
 */
function alignmentBoundsOf({
  alignments,
  evidence,
  significance,
}: Pick<SearchWire, 'alignments' | 'evidence' | 'significance'>): AlignmentBounds | undefined {
  if (alignments === undefined) return undefined;
  const isAligned = evidence === 'pairwise_sequence_alignment';
  if (!isAligned || significance === 'not_requested') {
    throw new Refusal(
      'significance_unavailable',
      'Further alignments need alignments and E-values. Ask with "evidence": "pairwise_sequence_alignment" and ' +
        '"significance": "if_available" or "required".',
      { param: isAligned ? 'significance' : 'evidence' },
    );
  }
  return {
    maxCount: alignments.maximum_count ?? ALIGNMENTS_COUNT,
    maxEValue: alignments.maximum_expected_false_hits ?? ALIGNMENTS_EXPECTED_FALSE_HITS,
  };
}

interface Selection {
  readonly release: CatalogRelease;
  readonly targetSpaceOf: (engine: SearchEngine) => Promise<TargetSpace>;
}

function selectRelease(
  wire: SearchWire,
  context: RequestContext,
  dependencies: ResolveDependencies,
): Selection {
  const { catalog, targetSpaces } = dependencies;
  const { organizationId } = context;
  if (wire.target_space_id !== undefined) {
    const stored = targetSpaces.find(wire.target_space_id, organizationId);
    const release = catalog.release(stored.databaseReleaseId, organizationId, 'target_space_id');
    return {
      release,
      targetSpaceOf: ({ release: opened }) =>
        targetSpaces.reopenInTurns(opened, stored.canonicalFilter, context.signal),
    };
  }
  const release =
    wire.database_release_id === undefined
      ? catalog.defaultRelease(wire.database, organizationId)
      : catalog.release(wire.database_release_id, organizationId);
  const targetSpaceOf = async ({ release: opened }: SearchEngine): Promise<TargetSpace> =>
    wire.filter === undefined
      ? targetSpaces.unfiltered(opened)
      : targetSpaces.ofFilter(opened, wire.filter, context);
  return { release, targetSpaceOf };
}
