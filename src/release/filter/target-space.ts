import { valueId } from '../../ids.js';
import { atOnce, type Steps } from '../../turns.js';
import { type CanonicalFilter, canonicalClause } from './filter.js';
import { eligibleTargetSteps } from './evaluate.js';
import type { Release, TargetSpace } from '../release.js';

/** Targets whose residues are counted between two steps. */
const TARGETS_PER_STEP = 1_024;

/**
 * The targets of a release that a canonical filter lets through, under an id that equal canonical filters share.
 * Order   eligible targets ascend, so that a search visits the token file from front to back
 */
export function compileTargetSpace(release: Release, filter: CanonicalFilter): TargetSpace {
  return atOnce(targetSpaceSteps(release, filter));
}

/** compileTargetSpace for callers that take turns. */
export function* targetSpaceSteps(release: Release, filter: CanonicalFilter): Steps<TargetSpace> {
  const eligible = yield* eligibleTargetSteps(canonicalClause(filter.predicate, release.fields), release);
  let searchedResidueCount = 0;
  for (const [index, target] of eligible.entries()) {
    if (index % TARGETS_PER_STEP === 0) yield;
    searchedResidueCount += release.targets.length(target);
  }
  return Object.freeze({
    id: targetSpaceId(release, filter),
    canonicalFilter: filter.predicate,
    canonicalFilterSha256: filter.sha256,
    releaseId: release.id,
    eligible,
    searchedTargetCount: eligible.length,
    searchedResidueCount,
  });
}

/** All targets of a release: what is searched without a filter. It has no id. */
export function unfilteredSpace(release: Release): TargetSpace {
  const { targets, residues } = release.manifest.counts;
  return Object.freeze({
    releaseId: release.id,
    searchedTargetCount: targets,
    searchedResidueCount: residues,
  });
}

/** `htsp_…`: the name of a release's targets under a canonical filter; known before they are looked up. */
export function targetSpaceId(release: Pick<Release, 'id' | 'manifest'>, filter: CanonicalFilter): string {
  return valueId('htsp', {
    database_release_id: release.id,
    canonical_filter: filter.predicate,
    filter_schema_id: release.manifest.filter_schema.id,
  });
}
