import { LRUCache } from 'lru-cache';
import { untilAborted } from '../../abort.js';
import { canonicalSha256 } from '../../canonical.js';
import type {
  TargetSpaceCompilation,
  TargetSpaceCompilationRequest,
} from '../../contract/search/target-spaces.js';
import { Refusal } from '../../errors.js';
import { TARGET_SPACE_CACHE_MAX_TARGETS } from '../../limits.js';
import { compileFilter, type CanonicalFilter } from '../../release/filter/filter.js';
import { COMPILATION_OPERATORS, type Predicate } from '../../release/filter/operators.js';
import type { Release, TargetSpace } from '../../release/release.js';
import {
  compileTargetSpace,
  targetSpaceId,
  targetSpaceSteps,
  unfilteredSpace,
} from '../../release/filter/target-space.js';
import { inTurns } from '../../turns.js';
import type { TargetSpaceRow, TargetSpaceTable } from '../../store/tables/target-spaces.js';
import type { RequestContext } from '../context.js';
import type { Engines } from '../../engine/engines.js';
import { releaseSnapshot, type Catalog } from './catalog.js';
import type { Reply } from '../reply.js';
import { semanticProfileId } from './semantic-profile.js';

/** Eligible targets of filters: compiled, cached, retrieved by id. */
export interface TargetSpaces {
  unfiltered(release: Release): TargetSpace;
  /**
   * The space of a homology request's filter. It is stored, so that its id works later and after a restart.
   * Errors  Refusal `invalid_filter` with every invalid member; the signal's reason
   */
  ofFilter(release: Release, filter: unknown, context: RequestContext): Promise<TargetSpace>;
  /** Errors  Refusal `target_space_not_found`; `permission_denied` where only other organizations made it */
  find(id: string, organizationId: string): TargetSpaceRow;
  /**
   * @param canonicalFilter as compiled for this release
   * Errors  the signal's reason
   */
  reopenInTurns(release: Release, canonicalFilter: unknown, signal?: AbortSignal): Promise<TargetSpace>;
  /** reopenInTurns without a pause, for commands. */
  reopen(release: Release, canonicalFilter: unknown): TargetSpace;
  /** The compilation route. Errors  the refusals of the route */
  compile(
    request: TargetSpaceCompilationRequest,
    context: RequestContext,
  ): Promise<Reply<TargetSpaceCompilation>>;
}

export interface TargetSpaceDependencies {
  readonly table: TargetSpaceTable;
  readonly catalog: Catalog;
  readonly engines: Engines;
}

export function createTargetSpaces({ table, catalog, engines }: TargetSpaceDependencies): TargetSpaces {
  const cache = new LRUCache<string, TargetSpace>({
    maxSize: TARGET_SPACE_CACHE_MAX_TARGETS,
    sizeCalculation: ({ eligible }) => (eligible?.length ?? 0) + 1,
  });
  const stored = (space: TargetSpace): TargetSpace => {
    cache.set(space.id!, space);
    return space;
  };
  let last: Promise<unknown> = Promise.resolve();
  // Evaluates one filter at a time, so that equal filters share one evaluation and few of its sets are in memory.
  const evaluate = (
    id: string,
    release: Release,
    filter: CanonicalFilter,
    signal?: AbortSignal,
  ): Promise<TargetSpace> => {
    const cached = cache.get(id);
    if (cached !== undefined) return Promise.resolve(cached);
    const evaluated = last.then(async () => {
      signal?.throwIfAborted();
      return cache.get(id) ?? stored(await inTurns(targetSpaceSteps(release, filter), signal));
    });
    last = evaluated.catch(() => undefined);
    return untilAborted(evaluated, signal);
  };
  return {
    unfiltered: unfilteredSpace,
    async ofFilter(release, filter, context) {
      const canonical = compileFilter(filter, release.fields, { place: ['body', 'filter'] });
      const row = spaceRow(release, canonical);
      await table.put(row, context.organizationId);
      return evaluate(row.id, release, canonical, context.signal);
    },
    find(id, organizationId) {
      const row = table.find(id, organizationId);
      if (row.status === 'found') return row.space;
      if (row.status === 'forbidden') {
        throw new Refusal('permission_denied', 'The target space belongs to another organization.');
      }
      throw new Refusal('target_space_not_found', `No target space has the id ${id}.`, {
        param: 'target_space_id',
      });
    },
    reopenInTurns(release, filter, signal) {
      const canonical = knownFilter(filter);
      return evaluate(targetSpaceId(release, canonical), release, canonical, signal);
    },
    reopen: (release, filter) => {
      const canonical = knownFilter(filter);
      return cache.get(targetSpaceId(release, canonical)) ?? stored(compileTargetSpace(release, canonical));
    },
    async compile(request, context) {
      const { organizationId } = context;
      const entry = catalog.release(request.DatabaseReleaseID, organizationId, 'DatabaseReleaseID');
      const { release } = await engines.open(entry.releaseId);
      const options = { place: ['body', 'Filter'], operators: COMPILATION_OPERATORS };
      const canonical = compileFilter(request.Filter, release.fields, options);
      const value = presentCompilation(release, canonical);
      const isCacheHit = table.find(value.id, organizationId).status === 'found';
      await table.put(spaceRow(release, canonical), organizationId);
      return {
        value,
        isCacheHit,
        databaseSnapshots: [releaseSnapshot(entry)],
        generatedObjectIds: isCacheHit ? [] : [value.id],
        inputRefs: [release.id],
        objectRefs: [release.id, value.filter_schema_id],
        outputRefs: [value.id],
      };
    },
  };
}

function knownFilter(predicate: unknown): CanonicalFilter {
  return { predicate: predicate as Predicate, sha256: canonicalSha256(predicate) };
}

function spaceRow(release: Release, filter: CanonicalFilter): TargetSpaceRow {
  return {
    id: targetSpaceId(release, filter),
    databaseReleaseId: release.id,
    canonicalFilter: filter.predicate,
    filterSchemaId: release.manifest.filter_schema.id,
  };
}

function presentCompilation(release: Release, filter: CanonicalFilter): TargetSpaceCompilation {
  const id = targetSpaceId(release, filter);
  return {
    object: 'homology_target_space_compilation',
    id,
    target_space_id: id,
    database_release_id: release.id,
    canonical_filter_sha256: filter.sha256,
    filter_schema_id: release.manifest.filter_schema.id,
    semantic_profile_id: semanticProfileId(release.manifest),
  };
}
