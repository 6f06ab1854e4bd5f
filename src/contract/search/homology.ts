import { Type, type Static } from '@sinclair/typebox';
import {
  DATABASE_SELECTOR_MAX_CHARACTERS,
  ALIGNMENTS_COUNT,
  ALIGNMENTS_EXPECTED_FALSE_HITS,
  ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS,
  DATABASE_SIZE_MAX,
  INLINE_MAX_CANDIDATES,
  PAIR_ALIGNMENTS_MAX_COUNT,
  PROTEIN_MAX_RESIDUES,
} from '../../limits.js';
import { HomologyCandidateSet, QueryRange } from './candidate-set.js';
import { HomologyFilter } from './filter.js';
import { defineRoute } from '../grammar/route.js';
import {
  closed,
  constant,
  defaulted,
  enumeration,
  mutuallyExclusive,
  named,
  text,
} from '../grammar/schema.js';

export const ProteinQuery = closed({
  kind: constant('protein_sequence'),
  sequence: Type.String({
    minLength: 1,
    maxLength: PROTEIN_MAX_RESIDUES,
    // The operation refuses a violation as invalid_sequence or sequence_empty, which name the letter.
    publishedPattern: '^[* \\t\\r\\n\\v\\f]*[A-Za-z][A-Za-z* \\t\\r\\n\\v\\f]*$',
    description:
      'One-letter amino acid codes. `query.normalization_id` of the response names the rules for other letters.',
  }),
});

export const ReleaseId = text('Id of one immutable release.', { pattern: '^dbr_[0-9a-f]{64}$' });
export const TargetSpaceId = text('Id of a reusable target space.', { pattern: '^htsp_[0-9a-f]{64}$' });

const FurtherAlignments = closed(
  {
    maximum_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PAIR_ALIGNMENTS_MAX_COUNT,
        description: `Maximum number of alignments of a candidate, with the best one; ${ALIGNMENTS_COUNT} by default.`,
      }),
    ),
    maximum_expected_false_hits: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1e6,
        description:
          'Largest conditional E-value of a further alignment, and largest E-value of targets that it counts; ' +
          `${ALIGNMENTS_EXPECTED_FALSE_HITS} by default. The E-value of the alignment itself is at most the larger ` +
          `of this value and ${ALIGNMENTS_REFINED_EXPECTED_FALSE_HITS}.`,
      }),
    ),
  },
  {
    description:
      'Requests further alignments of each candidate besides the best one. They need alignments and E-values: ' +
      '`evidence` "pairwise_sequence_alignment", and `significance` other than "not_requested".',
    chosen: true,
  },
);

/** Settings of every search except queries and limit. A run accepts the same settings. */
export const SEARCH_SETTINGS = {
  database: Type.Optional(
    text('Database id or slug from the catalog; its default release is searched.', {
      minLength: 1,
      maxLength: DATABASE_SELECTOR_MAX_CHARACTERS,
    }),
  ),
  database_release_id: Type.Optional(ReleaseId),
  filter: Type.Optional(HomologyFilter),
  target_space_id: Type.Optional(TargetSpaceId),
  evidence: defaulted(
    'candidate_measurement',
    enumeration(
      {
        candidate_measurement: 'the measurements of each candidate',
        pairwise_sequence_alignment: 'the measurements, and the best local alignment of query and candidate',
      },
      { chosen: true },
    ),
  ),
  guarantee: defaulted(
    'approximate',
    enumeration(
      {
        approximate: 'the qualified policy that the release selects, or a stronger exhaustive fallback',
        exhaustive: 'the reference policy: every eligible target is compared',
      },
      { chosen: true },
    ),
  ),
  significance: defaulted(
    'if_available',
    enumeration(
      {
        not_requested: 'candidates are not judged',
        if_available: 'candidates are judged if the calibration supports it',
        required: 'the search is refused before any work if no calibration supports it',
      },
      { chosen: true },
    ),
  ),
  relatives: Type.Optional(
    enumeration(
      {
        as_release:
          'the query is encoded with its homologs, found as those of the targets were, if the targets have homologs ' +
          '(default)',
        none: 'the query is encoded without homologs',
      },
      { chosen: true },
    ),
  ),
  alignments: Type.Optional(FurtherAlignments),
  query_range: Type.Optional(QueryRange),
  database_size: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: DATABASE_SIZE_MAX,
      description:
        'Number of proteins for which E-values are computed, so that E-values of a growing database remain ' +
        'comparable. By default, E-values count the searched targets. Ranks, bit scores and q-values do not depend ' +
        'on it.',
    }),
  ),
  probability: Type.Optional(
    enumeration(
      {
        not_requested: 'no probabilities (default)',
        if_available:
          'the probability that a candidate is a homolog, if the encoder has a table of probabilities',
        required: 'like `if_available`, but the search is refused without a table or without E-values',
      },
      { chosen: true },
    ),
  ),
  propagation: Type.Optional(
    enumeration(
      {
        not_requested: 'direct hits only (default)',
        required:
          'direct hits, and the targets that a walk over the graph of neighbours reaches. The search is refused ' +
          'if the graph, alignments or E-values are missing',
      },
      { chosen: true },
    ),
  ),
};

/** Database, release and target space are alternative selectors of the targets. */
export const ONE_SELECTOR = mutuallyExclusive(
  ['database', 'database_release_id'],
  ['target_space_id', 'database'],
  ['target_space_id', 'database_release_id'],
  ['target_space_id', 'filter'],
);

export const HomologyRequest = named(
  'HomologyRequest',
  closed(
    {
      query: ProteinQuery,
      ...SEARCH_SETTINGS,
      limit: defaulted(
        100,
        Type.Integer({
          minimum: 1,
          maximum: INLINE_MAX_CANDIDATES,
          description: 'Maximum number of candidates. The size of the response is also limited, to 16 MiB.',
        }),
      ),
    },
    {
      description:
        'Search of one protein in one immutable release. Without a selector, the default release of the default ' +
        'database is searched.',
      ...ONE_SELECTOR,
    },
  ),
);

/** The validated request, with default selectors filled in. */
export type HomologyRequest = Static<typeof HomologyRequest>;

export const searchHomology = defineRoute({
  operationId: 'homology.search',
  method: 'POST',
  retry: 'stored',
  path: '/v1/homology',
  tag: 'homology',
  summary: 'Search one protein against one release',
  description:
    'Runs one typed protein query against one resolved immutable release and returns completed ranked candidates ' +
    'and the requested evidence. The operation is synchronous and stateless. Candidates are retrieval measurements, ' +
    'not asserted homologs.',
  body: HomologyRequest,
  success: { status: 200, schema: HomologyCandidateSet, description: 'Ranked candidates.' },
  successStyle: 'bare',
  errorStyle: 'homology',
  work: 'execution',
  refusals: [
    'budget_exhausted',
    'permission_denied',
    'database_not_found',
    'default_database_not_set',
    'release_not_found',
    'target_space_not_found',
    'invalid_sequence',
    'sequence_empty',
    'sequence_is_nucleotide',
    'sequence_too_long',
    'query_range_invalid',
    'invalid_filter',
    'storage_quota_exceeded',
    'significance_unavailable',
    'propagation_unavailable',
    'relatives_unavailable',
    'worker_unavailable',
    'response_too_large',
  ],
});
