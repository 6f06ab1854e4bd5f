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

/** A request's stretch of the query. Its answer repeats it. */
export const QueryRange = closed(
  {
    start: Type.Integer({
      minimum: 0,
      maximum: PROTEIN_MAX_RESIDUES - 1,
      description: 'First residue; the first of the query is 0.',
    }),
    end: Type.Integer({
      minimum: 1,
      maximum: PROTEIN_MAX_RESIDUES,
      description: 'Residue after the last one.',
    }),
  },
  {
    description:
      'Residues of the query that are searched alone, zero-based and half-open. Distances, E-values and ' +
      '`result_sha256` are those of the stretch; positions and coverage are those of the whole query.',
    chosen: true,
  },
);

const Attributes = Type.Unsafe<Readonly<Record<string, string | number | boolean | readonly string[]>>>({
  type: 'object',
  description: 'Attributes of the target that are present, by field of the filter schema.',
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
    normalized_score: quantity("Raw score ÷ the smaller of the query's and the target's score with itself."),
    raw_score: quantity(
      'Best local alignment score with affine gaps, over integer similarities of residues: vectors and letters.',
    ),
  }),
  late_interaction: closed({
    distance: quantity('query_token_count × mean_closest_cosine_distance.'),
    mean_closest_cosine_distance: quantity('Equals maxsim.query_to_target.'),
    mean_closest_cosine_similarity: quantity('1 − maxsim.query_to_target.'),
    query_token_count: count('Tokens of the query: its residues.'),
  }),
  maxsim: closed(
    {
      bidirectional: quantity('Mean of the two directions; the primary measurement of the ranking.'),
      query_to_target: quantity(
        'Mean, over query residues, of the cosine distance to the closest target residue.',
      ),
      target_to_query: quantity(
        'Mean, over target residues, of the cosine distance to the closest query residue.',
      ),
    },
    {
      description:
        'Distances: 1 − cosine, 0 for the same direction and 2 for the opposite. Tokens are rounded to integers of ' +
        'squared norm ≤ 32,767, so that a distance can leave that range by a little: with `inverse_step` 173 it lies ' +
        'in −0.095..2.095, and that of a protein to itself is about 0, on either side. It is not clamped.',
    },
  ),
});

export const PairwiseAlignment = named(
  'PairwiseAlignment',
  closed(
    {
      aligned_residue_count: count('Columns with a residue on both sides.'),
      cigar: text('Extended CIGAR (`=`, `X`, `I`, `D`); empty where no pair of residues scores above zero.'),
      cigar_dialect: constant('extended'),
      coordinate_system: constant('zero_based_half_open'),
      gap_opening_count: count('Gaps.'),
      gap_residue_count: count('Residues that face a gap.'),
      identical_residue_count: count('Columns with the same known residue on both sides.'),
      query_coverage_ratio: ratio('Aligned stretch of the query ÷ its length.'),
      query_end: count('Position after the last aligned query residue.'),
      query_length: count('Residues of the normalised query.'),
      query_start: count('Position of the first aligned query residue.'),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      target_coverage_ratio: ratio('Aligned stretch of the target ÷ its length.'),
      target_end: count('Position after the last aligned target residue.'),
      target_length: count('Residues of the target.'),
      target_start: count('Position of the first aligned target residue.'),
    },
    { description: 'Best local alignment of query and target; present where it was asked for.' },
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
        quantity('E-value of this alignment. That of the best one is at most the E-value of the pair.'),
      ),
      log_expected_false_hits: Type.Optional(quantity('Natural logarithm of the E-value.')),
    },
    { description: 'One of several alignments of a pair.', chosen: true },
  ),
);

export const HomologyCandidate = named(
  'HomologyCandidate',
  closed({
    rank: count('1 is the closest.', { minimum: 1 }),
    evidence_rank: Type.Optional(
      count(
        'Place by evidence among all targets that the approximate policy measured: by E-value, then by affine score; ' +
          'without an E-value, by affine score. A list has the places 1 to `limit`, so that one of fewer candidates ' +
          'and the same `policy_id` is its beginning in this order. Absent where every eligible target was compared.',
        { minimum: 1 },
      ),
    ),
    target: closed({
      id: text('Id of the target in its release.'),
      sequence: text('Its normalised sequence, as it was encoded.'),
      attributes: Attributes,
    }),
    measurements: Measurements,
    alignment: Type.Optional(PairwiseAlignment),
    alignments: Type.Optional(
      Type.Array(CandidateAlignment, {
        description:
          'The best alignment and further ones, as the request asked for them, by score in the tokens of the whole ' +
          'proteins. No two overlap in the query and in the target at once. In a database without homologs, each is ' +
          'refined in stretches of its own. The ends of the first can then differ from those of `alignment`.',
      }),
    ),
    is_alignment_limit_reached: Type.Optional(
      flag('True when a further alignment existed beyond `alignments.maximum_count`.'),
    ),
    significance: Significance,
  }),
);

const SearchedDatabase = closed({
  corpus_snapshot_id: text('Digest of ids, sequences and attributes, whatever encoder encoded them.'),
  id: text('Database id.'),
  release_id: text('Release that was searched.'),
  searched_residue_count: count('Residues of the eligible targets.'),
  searched_target_count: count('Eligible targets.'),
  slug: text('Name of the database.'),
  canonical_filter_sha256: Type.Optional(
    sha256('SHA-256 of the canonical filter; present where one applied.'),
  ),
  target_space_id: Type.Optional(
    text('Names the eligible targets; pass it as `target_space_id` to search them again.'),
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
    'True when every returned candidate carries all that was asked for: alignments, and supported judgements unless ' +
      'none were requested. False takes nothing from what is there.',
  ),
  alignment: closed({
    status: enumeration(
      {
        not_requested: 'alignments were not asked for',
        complete: 'every candidate has one',
        partial: 'some candidates have no pair of residues that scores above zero',
      },
      { chosen: true },
    ),
    candidate_count: count('Candidates that the status speaks of.'),
    affected_candidate_count: count('Candidates that lack it.'),
    reason: enumeration(
      {
        not_requested: 'alignments were not asked for',
        all_candidates_aligned: 'nothing is missing',
        no_positive_local_score: 'no pair of residues of some candidate scores above zero',
        no_candidates: 'the answer has no candidates',
      },
      { chosen: true },
    ),
  }),
  significance: closed({
    requirement: enumeration({
      not_requested: 'no judgement was asked for',
      if_available: 'judged where supported',
      required: 'refused where unsupported',
    }),
    status: enumeration(
      {
        not_requested: 'no judgement was asked for',
        complete: 'every candidate is judged',
        partial: 'some candidates are outside the calibration',
        not_available: 'no candidate could be judged',
      },
      { chosen: true },
    ),
    candidate_count: count('Candidates that the status speaks of.'),
    affected_candidate_count: count('Candidates without a supported judgement.'),
    reason: enumeration(
      {
        not_requested: 'no judgement was asked for',
        all_candidates_supported: 'nothing is missing',
        some_candidates_unsupported: "each candidate's own reason tells why",
        no_candidates: 'the answer has no candidates',
        no_qualified_calibration: 'the release has no qualified calibration for this policy',
      },
      { chosen: true },
    ),
    database_size: Type.Optional(
      count(
        'Proteins that E-values count, where the request gave it; otherwise they count the searched ones.',
        {
          minimum: 1,
        },
      ),
    ),
  }),
});

const Execution = closed({
  created_at: moment('When this execution ended; an answer from the cache keeps the time of its execution.'),
  engine: text('Kernel backend and the variant that served.'),
  engine_release: text('Version of the kernels.'),
  semantic_profile_id: text('Names all that gives the numbers their meaning: encoder, quantisation, scores.'),
  server_version: text('Exact build of the server: release version and commit.'),
  policy: closed({
    is_deterministic: flag('True: equal requests give equal candidates.'),
    is_exhaustive: flag('Whether every eligible target was compared.'),
    is_fallback: flag('Whether a stronger policy than asked for answered.'),
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
        exhaustive_requested: 'the caller asked for the reference policy',
        qualified_approximate_policy: 'the release has a qualified approximate policy',
        no_qualified_approximate_policy: 'the release has none, so the reference policy answered',
        limit_exceeds_qualified_policy:
          'more candidates were asked for than any policy of its card lists, so the reference policy answered',
      },
      { chosen: true },
    ),
    policy_id: Type.Optional(text('The approximate policy that answered; absent where the reference did.')),
    qualification_id: Type.Optional(
      text('Card of what the approximate policy was measured to keep of the exhaustive answer.'),
    ),
    nearest_count: Type.Optional(
      count(
        'Targets that the approximate policy measures exactly and aligns, because a sample of the query is near; at ' +
          'most so many of a policy that measures in steps.',
      ),
    ),
    striking_count: Type.Optional(
      count(
        'As many more at most, because some of the sample is strikingly near; the best evidence is listed.',
      ),
    ),
    known_losses: Type.Optional(
      text(
        'What that card says the approximate policy misses of the exhaustive answer before a list is selected, ' +
          'and how it is selected, for people.',
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
        queue_wait_ms: count('From arrival until work started.'),
        relatives_search_ms: Type.Optional(
          count(
            "Finding the query's relatives, part of the execution; present where the targets have relatives.",
          ),
        ),
        search_execution_ms: count('Encoding, comparing, ranking and aligning.'),
        server_total_ms: count('From arrival until this answer was written.'),
      }),
      query: closed({
        kind: constant('protein_sequence'),
        normalization_id: text('How the letters were read.'),
        normalized_length: count('Residues after normalisation.'),
        range: Type.Optional(QueryRange),
        relative_count: Type.Optional(
          count(
            "Relatives that the query's tokens were made with; present where the targets have relatives.",
          ),
        ),
        sha256: sha256('SHA-256 of the normalised sequence.'),
      }),
      propagation: Type.Optional(Propagation),
      ranking: closed({
        comparability: constant('within_query_only', 'Ranks and distances compare within this answer only.'),
        order: constant('ascending'),
        primary_measurement: constant('maxsim.bidirectional'),
        scope: constant('resolved_policy_frontier'),
        selection: Type.Optional(
          enumeration(
            {
              nearest: 'the first `limit` of this ranking',
              best_evidence:
                'the `limit` with the best `evidence_rank` of all that the approximate policy measured, then ranked: ' +
                'a target that is nearer and has a larger E-value can be absent, and the list is shorter than ' +
                '`limit` if fewer were measured',
            },
            { chosen: true },
          ),
        ),
        tie_breakers: Type.Array(
          closed({ field: text('Member of the candidate.'), order: text('`ascending`.') }),
        ),
      }),
      receipt: closed({
        bytes: count('Length of the canonical JSON of the receipt.'),
        id: text('Pass it to `GET /v1/receipts/{receipt_id}`.', { pattern: '^rcpt_[0-9a-f]{64}$' }),
        sha256: sha256('SHA-256 of the canonical JSON of the receipt.'),
      }),
      request_id: text('Equals the header `X-Request-ID`.'),
      result_sha256: sha256('Names what was found: equal searches have equal values on every machine.'),
      usage: closed({
        logical_bytes_returned: count('Bytes of ids, sequences and attributes that were returned.'),
        billable_formula_id: Type.Optional(text('How the units were counted.')),
        billable_units: Type.Optional(count('Units billed; equals `X-Service-Billable-Units`.')),
        logical_bytes_read: Type.Optional(count('Bytes of residue tokens that were compared.')),
      }),
      warnings: Type.Array(Warning),
    },
    { description: 'Ranked retrieval candidates of one query: measurements, not asserted homologs.' },
  ),
);

export type PairwiseAlignment = Static<typeof PairwiseAlignment>;
export type HomologyCandidate = Static<typeof HomologyCandidate>;
export type HomologyCandidateSet = Static<typeof HomologyCandidateSet>;
