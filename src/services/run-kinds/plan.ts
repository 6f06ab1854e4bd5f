import type { SearchSettings } from '../../search/search.js';
import { refuseWithoutSignificance } from '../../search/significance.js';
import type { CatalogRelease } from '../search/catalog.js';
import type { RequestContext } from '../context.js';
import { resolveSearch, type ResolvedSearch, type ResolveParts } from '../search/resolve-search.js';

/** What a search was resolved to when its run was accepted, as JSON: a later default or filter changes nothing. */
export interface SearchPlan extends Omit<SearchSettings, 'targetSpace'> {
  readonly release: Pick<CatalogRelease, 'databaseId' | 'releaseId' | 'slug'>;
  readonly targetSpaceId?: string;
}

/** Errors  Refusal `significance_unavailable`: what the search itself would refuse is refused before it is accepted */
export function planSearch(
  { release, settings, engine }: ResolvedSearch,
  queryLengths: readonly number[],
): SearchPlan {
  refuseWithoutSignificance(settings.significance, queryLengths, engine.calibration);
  const { targetSpace, ...asked } = settings;
  const { databaseId, releaseId, slug } = release;
  return { ...asked, release: { databaseId, releaseId, slug }, targetSpaceId: targetSpace.id };
}

/**
 * The same search again, maybe in another process; direct searches go before it.
 * Errors  Refusal `release_not_found`, `permission_denied` where the release has gone or was made private meanwhile
 */
export async function reopenSearch(
  plan: SearchPlan,
  context: RequestContext,
  parts: ResolveParts,
): Promise<ResolvedSearch> {
  const { release, targetSpaceId, ...asked } = plan;
  const selector =
    targetSpaceId === undefined
      ? { database_release_id: release.releaseId }
      : { target_space_id: targetSpaceId };
  const resolved = await resolveSearch({ ...asked, ...selector }, context, parts);
  // Several databases may hold the release; the run keeps the name that it was asked under.
  return {
    ...resolved,
    release: { ...resolved.release, ...release },
    engine: { ...resolved.engine, isBackground: true },
  };
}
