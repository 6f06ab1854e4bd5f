import { Type, type Static } from '@sinclair/typebox';
import { Warning } from '../grammar/envelope.js';
import {
  closed,
  constant,
  count,
  enumeration,
  flag,
  moment,
  named,
  quantity,
  ratio,
  sha256,
  text,
} from '../grammar/schema.js';
import { Propagation } from './propagation.js';
import { Significance } from './significance.js';
import { PROTEIN_MAX_RESIDUES } from '../../limits.js';

/** Range of the query that a request searches. The response repeats it. */
export const QueryRange = closed(
  {
    start: Type.Integer({
      minimum: 0,
      maximum: PROTEIN_MAX_RESIDUES - 1,
      description: 'Position of the first residue, zero-based.',
    }),
    end: Type.Integer({
      minimum: 1,
      maximum: PROTEIN_MAX_RESIDUES,
      description: 'Position after the last residue.',
    }),
  },
  {
    description:
      'Range of the query that is searched as if it were the whole query, zero-based and half-open. Distances, ' +
      'E-values and `result_sha256` are those of the range. Positions and coverage are those of the whole query.',
    chosen: true,
  },
);

const Attributes = Type.Unsafe<Readonly<Record<string, string | number | boolean | readonly string[]>>>({
  type: 'object',
  description: 'Attributes of the target, by field of the filter schema. Fields without a value are absent.',
  additionalProperties: {
    anyOf: [
      { type: 'string' },
      { type: 'number' },
      { type: 'boolean' },
      { type: 'array', items: { type: 'string' } },
    ],
  },
});

const Measurements = closed({
  affine: closed({
    normalized_score: quantity('Raw score ÷ the smaller of the self-scores of query and target.'),
    raw_score: quantity(
      'Score of the best local alignment with affine gaps, over integer similarities of residue vectors and letters.',
    ),
  }),
  late_interaction: closed({
    distance: quantity('`query_token_count` × `mean_closest_cosine_distance`.'),
    mean_closest_cosine_distance: quantity('Equals `maxsim.query_to_target`.'),
    mean_closest_cosine_similarity: quantity('1 − `maxsim.query_to_target`.'),
    query_token_count: count('Number of tokens of the query: one for each residue.'),
  }),
  maxsim: closed(
    {
      bidirectional: quantity('Mean of the two directions: the distance by which candidates are ranked.'),
      query_to_target: quantity(
        'Mean, over query residues, of the cosine distance to the closest target residue.',
      ),
      target_to_query: quantity(
        'Mean, over target residues, of the cosine distance to the closest query residue.',
      ),
    },
    {
      description:
        'Distances: 1 − cosine, 0 for the same direction and 2 for the opposite one. Tokens are rounded to integers ' +
        'of squared norm ≤ 32,767, so that a distance can lie slightly outside 0..2. With `inverse_step` 173 it lies ' +
        'in −0.095..2.095. The distance of a protein to itself is about 0 and can be negative. Values are not clamped.',
    },
  ),
});

export const PairwiseAlignment = named(
  'PairwiseAlignment',
  closed(
    {
      aligned_residue_count: count('Number of columns with a residue on both sides.'),
      cigar: text('Extended CIGAR (`=`, `X`, `I`, `D`); empty if no pair of residues has a positive score.'),
      cigar_dialect: constant('extended'),
      coordinate_system: constant('zero_based_half_open'),
      gap_opening_count: count('Number of gaps.'),
      gap_residue_count: count('Number of residues opposite a gap.'),
      identical_residue_count: count('Number of columns with the same known residue on both sides.'),
      query_coverage_ratio: ratio('Length of the aligned part of the query ÷ length of the query.'),
      query_end: count('Position after the last aligned query residue.'),
      query_length: count('Number of residues of the normalised query.'),
      query_start: count('Position of the first aligned query residue.'),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      target_coverage_ratio: ratio('Length of the aligned part of the target ÷ length of the target.'),
      target_end: count('Position after the last aligned target residue.'),
      target_length: count('Number of residues of the target.'),
      target_start: count('Position of the first aligned target residue.'),
    },
    { description: 'Best local alignment of query and target; present if the request asked for alignments.' },
  ),
);

const CandidateAlignment = named(
  'CandidateAlignment',
  closed(
    {
      alignment: PairwiseAlignment,
      raw_score: quantity('Score of this alignment.'),
      bit_score: Type.Optional(quantity('Bit score of this alignment.')),
      expected_false_hits: Type.Optional(
        quantity('E-value of this alignment. The E-value of the best alignment is at most that of the pair.'),
      ),
      log_expected_false_hits: Type.Optional(quantity('Natural logarithm of the E-value.')),
      conditional_expected_false_hits: Type.Optional(
        quantity(
          'E-value × accepted targets ÷ searched targets. A listed target is accepted if its smallest E-value is at ' +
            'most `alignments.maximum_expected_false_hits`. Absent for other targets.',
        ),
      ),
    },
    { description: 'One of several alignments of query and target.', chosen: true },
  ),
);

export const HomologyCandidate = named(
  'HomologyCandidate',
  closed({
    rank: count('Position by distance; 1 is the closest candidate.', { minimum: 1 }),
    evidence_rank: Type.Optional(
      count(
        'Position by evidence among all targets that the approximate policy measured: by E-value, then by affine ' +
          'score. A candidate without an E-value has the position of its affine score. The list has the positions 1 ' +
          'to `limit`. In this order, a list with a smaller `limit` and the same `policy_id` is a prefix of it. ' +
          'Absent if every eligible target was compared.',
        { minimum: 1 },
      ),
    ),
    target: closed({
      id: text('Id of the target in its release.'),
      sequence: text('Normalised sequence of the target, as it was encoded.'),
      attributes: Attributes,
    }),
    measurements: Measurements,
    alignment: Type.Optional(PairwiseAlignment),
    alignments: Type.Optional(
      Type.Array(CandidateAlignment, {
        description:
          'The best alignment and further ones, present if the request has `alignments`. They are ordered by score ' +
          'with the tokens of the whole proteins. No two overlap in both query and target. In a database without ' +
          'homologs, each alignment is refined with tokens of the regions around it, encoded as separate proteins. ' +
          'The ends of the first one can then differ from those of `alignment`.',
      }),
    ),
    is_alignment_limit_reached: Type.Optional(
      flag('True when a further alignment existed beyond `alignments.maximum_count`.'),
    ),
    significance: Significance,
  }),
);

const SearchedDatabase = closed({
  corpus_snapshot_id: text('Digest of ids, sequences and attributes; it does not depend on the encoder.'),
  id: text('Database id.'),
  release_id: text('Release that was searched.'),
  searched_residue_count: count('Number of residues of the eligible targets.'),
  searched_target_count: count('Number of eligible targets.'),
  slug: text('Slug of the database.'),
  canonical_filter_sha256: Type.Optional(
    sha256('SHA-256 of the canonical filter; present if the search had a filter.'),
  ),
  target_space_id: Type.Optional(
    text('Id of the set of eligible targets. Send it as `target_space_id` to search them again.'),
  ),
});

const GuaranteeSchema = enumeration({
  approximate: 'the qualified policy of the release',
  exhaustive: 'every eligible target is compared',
});

const EvidenceSummary = closed({
  requested: enumeration({
    candidate_measurement: 'measurements only',
    pairwise_sequence_alignment: 'measurements and alignments',
  }),
  is_requested_evidence_complete: flag(
    'True when every returned candidate has all requested evidence: an alignment if alignments were requested, and ' +
      'a supported judgement unless `significance` is `not_requested`. False does not invalidate the other evidence.',
  ),
  alignment: closed({
    status: enumeration(
      {
        not_requested: 'alignments were not requested',
        complete: 'every candidate has an alignment',
        partial: 'some candidates have no pair of residues with a positive score',
      },
      { chosen: true },
    ),
    candidate_count: count('Number of candidates that the status covers.'),
    affected_candidate_count: count('Number of candidates without an alignment.'),
    reason: enumeration(
      {
        not_requested: 'alignments were not requested',
        all_candidates_aligned: 'every candidate has an alignment',
        no_positive_local_score: 'some candidates have no pair of residues with a positive score',
        no_candidates: 'the response has no candidates',
      },
      { chosen: true },
    ),
  }),
  significance: closed({
    requirement: enumeration({
      not_requested: 'significance was not requested',
      if_available: 'candidates are judged if the calibration supports it',
      required: 'the search is refused if no calibration supports it',
    }),
    status: enumeration(
      {
        not_requested: 'significance was not requested',
        complete: 'every candidate has a supported judgement',
        partial: 'the calibration does not cover some candidates',
        not_available: 'no candidate has a supported judgement',
      },
      { chosen: true },
    ),
    candidate_count: count('Number of candidates that the status covers.'),
    affected_candidate_count: count('Number of candidates without a supported judgement.'),
    reason: enumeration(
      {
        not_requested: 'significance was not requested',
        all_candidates_supported: 'every candidate has a supported judgement',
        some_candidates_unsupported: '`significance.reason` of each candidate states why',
        no_candidates: 'the response has no candidates',
        no_qualified_calibration: 'the release has no qualified calibration for this policy',
      },
      { chosen: true },
    ),
    database_size: Type.Optional(
      count(
        'Number of proteins for which E-values are computed; present if the request gave it. Otherwise, E-values ' +
          'count the searched targets.',
        {
          minimum: 1,
        },
      ),
    ),
  }),
});

const Execution = closed({
  created_at: moment(
    'Time when this execution ended. A response from the cache keeps the time of its execution.',
  ),
  engine: text('Kernel backend that computed the result, and its variant.'),
  engine_release: text('Version of the kernels.'),
  semantic_profile_id: text(
    'Id of everything that defines the numbers: normalisation, encoder, quantisation, scores.',
  ),
  server_version: text('Exact build of the server: release version and commit.'),
  policy: closed({
    is_deterministic: flag('True: equal requests give equal candidates.'),
    is_exhaustive: flag('True when every eligible target was compared.'),
    is_fallback: flag('True when a stronger policy than the requested one was used.'),
    outcome: enumeration(
      {
        complete_exact: 'the ranking is exact over the whole target space',
        complete_approximate: 'the ranking is exact over the shortlist of the qualified policy',
      },
      { chosen: true },
    ),
    requested_guarantee: GuaranteeSchema,
    resolved_guarantee: GuaranteeSchema,
    resolution_reason: enumeration(
      {
        exhaustive_requested: 'the request asked for the reference policy',
        qualified_approximate_policy: 'the release has a qualified approximate policy',
        no_qualified_approximate_policy:
          'the release has no qualified approximate policy, so that the reference policy was used',
        limit_exceeds_qualified_policy:
          'no measured approximate policy of the release covers this `limit`, so that the reference policy was used',
      },
      { chosen: true },
    ),
    policy_id: Type.Optional(text('Id of the approximate policy; absent if the reference policy was used.')),
    qualification_id: Type.Optional(
      text('Id of the measurement of the recall of the approximate policy against exhaustive search.'),
    ),
    nearest_count: Type.Optional(
      count(
        'Number of targets that the approximate policy measures exactly and aligns because they are nearest to a ' +
          'sample of the query. For a policy that measures in steps, it is a maximum.',
      ),
    ),
    striking_count: Type.Optional(
      count(
        'Maximum number of further targets that it measures exactly because they match part of the sample very ' +
          'closely. The list has the best evidence of all measured targets.',
      ),
    ),
    known_losses: Type.Optional(
      text(
        'Text for people: which share of the exhaustive result the approximate policy misses before the list is ' +
          'selected, as measured, and how the list is selected.',
      ),
    ),
  }),
});

export const HomologyCandidateSet = named(
  'HomologyCandidateSet',
  closed(
    {
      object: constant('homology_candidate_set'),
      candidates: Type.Array(HomologyCandidate, { description: 'Closest first.' }),
      database: SearchedDatabase,
      evidence_summary: EvidenceSummary,
      execution: Execution,
      is_result_limit_reached: flag('True when more ranked targets existed beyond `limit`.'),
      performance: closed({
        is_cache_hit: flag('True when the candidates of an earlier equal execution were reused.'),
        queue_wait_ms: count('Milliseconds from the arrival of the request until work started.'),
        relatives_search_ms: Type.Optional(
          count(
            'Milliseconds of the search for homologs of the query, part of `search_execution_ms`. Present if the ' +
              'targets have homologs.',
          ),
        ),
        search_execution_ms: count('Milliseconds of encoding, comparing, ranking and aligning.'),
        server_total_ms: count(
          'Milliseconds from the arrival of the request until the response was composed.',
        ),
      }),
      query: closed({
        kind: constant('protein_sequence'),
        normalization_id: text('Id of the rules by which letters were read as residues.'),
        normalized_length: count('Number of residues after normalisation.'),
        range: Type.Optional(QueryRange),
        relative_count: Type.Optional(
          count('Number of homologs that were encoded with the query. Present if the targets have homologs.'),
        ),
        sha256: sha256('SHA-256 of the normalised sequence.'),
      }),
      propagation: Type.Optional(Propagation),
      ranking: closed({
        comparability: constant(
          'within_query_only',
          'Ranks and distances are comparable only within this response.',
        ),
        order: constant('ascending'),
        primary_measurement: constant('maxsim.bidirectional'),
        scope: constant('resolved_policy_frontier'),
        selection: Type.Optional(
          enumeration(
            {
              nearest: 'the first `limit` candidates of this ranking',
              best_evidence:
                'the `limit` candidates with the best `evidence_rank` among all targets that the approximate policy ' +
                'measured, then ranked. A nearer target with a larger E-value can be absent. The list is shorter ' +
                'than `limit` if fewer targets were measured',
            },
            { chosen: true },
          ),
        ),
        tie_breakers: Type.Array(
          closed({ field: text('Member of the candidate that breaks ties.'), order: text('`ascending`.') }),
        ),
      }),
      receipt: closed({
        bytes: count('Length of the canonical JSON of the receipt.'),
        id: text('Id of the receipt, for `GET /v1/receipts/{receipt_id}`.', {
          pattern: '^rcpt_[0-9a-f]{64}$',
        }),
        sha256: sha256('SHA-256 of the canonical JSON of the receipt.'),
      }),
      request_id: text('Equals the header `X-Request-ID`.'),
      result_sha256: sha256('SHA-256 of the result. Equal searches have equal values on every machine.'),
      usage: closed({
        logical_bytes_returned: count('Number of bytes of the returned ids, sequences and attributes.'),
        billable_formula_id: Type.Optional(text('Id of the formula of the billable units.')),
        billable_units: Type.Optional(count('Number of billed units; equals `X-Service-Billable-Units`.')),
        logical_bytes_read: Type.Optional(count('Number of bytes of the compared residue tokens.')),
      }),
      warnings: Type.Array(Warning),
    },
    { description: 'Ranked retrieval candidates of one query: measurements, not asserted homologs.' },
  ),
);

export type PairwiseAlignment = Static<typeof PairwiseAlignment>;
export type HomologyCandidate = Static<typeof HomologyCandidate>;
export type HomologyCandidateSet = Static<typeof HomologyCandidateSet>;
