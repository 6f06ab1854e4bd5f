import { Type, type Static } from '@sinclair/typebox';
import {
  DATABASE_SELECTOR_MAX_CHARACTERS,
  ALIGNMENTS_COUNT,
  ALIGNMENTS_EXPECTED_FALSE_HITS,
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
      'One-letter amino acid codes. How other letters are read is what `query.normalization_id` names.',
  }),
});

export const ReleaseId = text('Exact immutable release.', { pattern: '^dbr_[0-9a-f]{64}$' });
export const TargetSpaceId = text('A reusable target space.', { pattern: '^htsp_[0-9a-f]{64}$' });

const FurtherAlignments = closed(
  {
    maximum_count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PAIR_ALIGNMENTS_MAX_COUNT,
        description: `Alignments of one candidate at most, the best included; ${ALIGNMENTS_COUNT} by default.`,
      }),
    ),
    maximum_expected_false_hits: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 1e6,
        description: `Largest E-value of a further alignment; ${ALIGNMENTS_EXPECTED_FALSE_HITS} by default.`,
      }),
    ),
  },
  {
    description:
      'Asks for all alignments of each candidate instead of the best alone. Further alignments need alignments and ' +
      'E-values: evidence "pairwise_sequence_alignment", and significance other than "not_requested".',
    chosen: true,
  },
);

/** Settings of every search besides queries and limit. A run accepts the same settings. */
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
        pairwise_sequence_alignment: 'also the best local alignment of query and candidate',
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
        not_requested: 'no judgement',
        if_available: 'judged where the calibration supports it',
        required: 'refused before any work where no calibration supports it',
      },
      { chosen: true },
    ),
  ),
  relatives: Type.Optional(
    enumeration(
      {
        as_release:
          'the query is given relatives as the targets of the release were, if they were: the default',
        none: 'the query is compared as it stands',
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
        'E-values as if so many proteins were searched, so that those of growing databases compare. By default they ' +
        'count the searched ones. Ranks, bit scores and q-values do not depend on it.',
    }),
  ),
  probability: Type.Optional(
    enumeration(
      {
        not_requested: 'no probabilities: the default',
        if_available:
          'also the probability that a candidate is a homolog, if the encoder has a table of them',
        required: 'the same, refused without a table or without E-values',
      },
      { chosen: true },
    ),
  ),
  propagation: Type.Optional(
    enumeration(
      {
        not_requested: 'direct hits only: the default',
        required:
          'also the targets that a walk over the graph of neighbours reaches; refused without a graph',
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
          description: 'Rows returned at most; the answer is also bounded by 16 MiB.',
        }),
      ),
    },
    {
      description:
        'One protein against one immutable release. Without any selector, the default database and its default ' +
        'release are searched.',
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
    'and the requested evidence. Synchronous and stateless. Candidates are retrieval measurements, not asserted ' +
    'homologs.',
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
