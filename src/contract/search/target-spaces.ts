import { type Static } from '@sinclair/typebox';
import { envelopeOf } from '../grammar/envelope.js';
import { CompilationFilter } from './filter.js';
import { ReleaseId, TargetSpaceId } from './homology.js';
import { defineRoute } from '../grammar/route.js';
import { closed, constant, named, sha256, text } from '../grammar/schema.js';

export const TargetSpaceCompilationRequest = named(
  'TargetSpaceCompilationRequest',
  closed({ DatabaseReleaseID: ReleaseId, Filter: CompilationFilter }),
);

export const TargetSpaceCompilation = named(
  'HomologyTargetSpaceCompilation',
  closed(
    {
      object: constant('homology_target_space_compilation'),
      id: text(
        'Id of this compilation, equal to `target_space_id`: equal filters have the same target space.',
      ),
      target_space_id: TargetSpaceId,
      database_release_id: ReleaseId,
      canonical_filter_sha256: sha256('SHA-256 of the canonical filter.'),
      filter_schema_id: text('Id of the immutable filter schema of the release.'),
      semantic_profile_id: text('Id of everything that defines the numbers of a search.'),
    },
    { description: 'A filter on one release, compiled into a reusable immutable target space.' },
  ),
);

export const compileTargetSpace = defineRoute({
  operationId: 'homology.target_space_compilations.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/homology/target-space-compilations',
  tag: 'homology',
  summary: 'Compile a filter into a target space',
  description: 'Equal canonical filters on one release give the same target space.',
  body: TargetSpaceCompilationRequest,
  success: {
    status: 201,
    schema: envelopeOf('HomologyTargetSpaceCompilationEnvelope', TargetSpaceCompilation),
    description: 'The target space.',
  },
  successStyle: 'envelope',
  errorStyle: 'envelope',
  work: 'light',
  refusals: ['permission_denied', 'release_not_found', 'invalid_filter', 'storage_quota_exceeded'],
});

export type TargetSpaceCompilationRequest = Static<typeof TargetSpaceCompilationRequest>;
export type TargetSpaceCompilation = Static<typeof TargetSpaceCompilation>;
