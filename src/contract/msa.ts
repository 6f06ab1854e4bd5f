import { Type, type Static } from '@sinclair/typebox';
import {
  MSA_DEFAULT_DEPTH,
  MSA_DEFAULT_EXPECTED_FALSE_HITS,
  MSA_DEFAULT_NORMALIZED_SCORE,
  MSA_DEFAULT_PAIRWISE_IDENTITY,
  MSA_DEFAULT_QUERY_COVERAGE,
  MSA_MAX_DEPTH,
  RETAINED_MAX_CANDIDATES,
} from '../limits.js';
import { envelopeOf } from './grammar/envelope.js';
import { ReleaseId } from './search/homology.js';
import { ReceiptId } from './search/receipts.js';
import { CUT_OFFS, Sort } from './search/selection.js';
import { ANY_TYPE, defineRoute } from './grammar/route.js';
import {
  closed,
  constant,
  count,
  defaulted,
  enumeration,
  named,
  quantity,
  ratio,
  sha256,
  text,
} from './grammar/schema.js';

export const MsaId = text('Id of a multiple sequence alignment: it names its content and how it was made.', {
  pattern: '^msa_[0-9a-f]{64}$',
});
const MsaComponentId = text('Id of a component: it names its content.', {
  pattern: '^msac_[0-9a-f]{64}$',
});

const Query = closed({
  length: count('Residues of the query, and columns of the alignment.'),
  sha256: sha256('SHA-256 of the normalised query.'),
});

const SELECTION = enumeration(
  {
    identity_strata:
      'ten classes of sequence identity with the query, 0.1 wide, take turns from the highest, each giving its first ' +
      'in the order `sort`',
    rank: 'the first in the order `sort`',
  },
  {
    description: 'Which rows stay where more are left than the depth allows. Their order stays.',
  },
);

/** Selection of rows from those that pass the cut-offs. */
const CHOICE = {
  maximum_depth: defaulted(
    MSA_DEFAULT_DEPTH,
    Type.Integer({ minimum: 1, maximum: MSA_MAX_DEPTH, description: 'Rows at most, the query included.' }),
  ),
  maximum_sequence_identity_ratio: defaulted(1, ratio('Greatest sequence identity with the query.')),
  maximum_pairwise_identity_ratio: Type.Optional(
    ratio(
      'Greatest sequence identity of two rows over the columns in which both have a residue: of two that are more ' +
        'alike the first stays, and the query always does. 1 leaves all. ' +
        `Default: ${MSA_DEFAULT_PAIRWISE_IDENTITY}.`,
    ),
  ),
  diverse_row_count: Type.Optional(
    count(
      'Rows must differ by more than that, as far as every 50 columns keep this many of them: what `hhfilter -diff` ' +
        'does. 0, the default, asks for no more.',
    ),
  ),
  minimum_normalized_score: Type.Optional(
    quantity(
      `Least normalised affine score. Default: ${MSA_DEFAULT_NORMALIZED_SCORE} where no calibration gives any ` +
        'candidate an E-value, else 0.',
      { minimum: 0 },
    ),
  ),
  selection: defaulted('identity_strata', SELECTION),
};

const PARAMETERS = {
  ...CHOICE,
  minimum_query_coverage_ratio: defaulted(
    MSA_DEFAULT_QUERY_COVERAGE,
    ratio('Least aligned stretch of the query ÷ its length.'),
  ),
  minimum_target_coverage_ratio: CUT_OFFS.minimum_target_coverage_ratio,
  minimum_sequence_identity_ratio: defaulted(0, ratio('Least sequence identity with the query.')),
  maximum_expected_false_hits: Type.Optional(
    quantity(
      'Greatest E-value; candidates without one are left out. ' +
        `Default: ${MSA_DEFAULT_EXPECTED_FALSE_HITS} where a calibration gives any of them one; else a normalised ` +
        `affine score of ${MSA_DEFAULT_NORMALIZED_SCORE} is asked for instead, and a warning says so.`,
      { minimum: 0 },
    ),
  ),
  sort: Type.Optional(Sort),
};

/** Selection of an alignment's rows in an export, in addition to its own cut-offs and order. */
export const MsaChoice = named(
  'MsaChoice',
  closed(CHOICE, {
    description: 'How the rows of `a3m` are chosen of those that pass the cut-offs.',
    chosen: true,
  }),
);

export const MsaComponentRequest = named(
  'MsaComponentRequest',
  closed(
    { receipt_id: ReceiptId, target_id: text('One of its candidates.', { minLength: 1, maxLength: 256 }) },
    { chosen: true },
  ),
);

export const MsaComponent = named(
  'MsaComponent',
  closed(
    {
      object: constant('msa_component'),
      id: MsaComponentId,
      format: constant('gloaming-msa-component/1'),
      receipt_id: ReceiptId,
      release_id: ReleaseId,
      query: Query,
      target_id: text('Id of the target in its release.'),
      query_coverage_ratio: ratio('Aligned stretch of the query ÷ its length.'),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      expected_false_hits: Type.Optional(
        quantity('E-value against the targets that were searched; absent where no calibration supports it.', {
          minimum: 0,
        }),
      ),
      header: text('Its A3M header, without `>`.'),
      row: text('Its A3M row.'),
    },
    { description: 'One sequence of a receipt, placed over the query.', chosen: true },
  ),
);

export const MsaRequest = named(
  'MsaRequest',
  closed(
    {
      receipt_id: ReceiptId,
      component_ids: Type.Optional(
        Type.Array(MsaComponentId, {
          minItems: 1,
          maxItems: RETAINED_MAX_CANDIDATES,
          description:
            'These rows, in this order, instead of the candidates of the receipt; of the same query.',
        }),
      ),
      ...PARAMETERS,
    },
    { chosen: true },
  ),
);

export const Msa = named(
  'Msa',
  closed(
    {
      object: constant('msa'),
      id: MsaId,
      format: constant('gloaming-msa/1'),
      receipt_id: ReceiptId,
      release_id: ReleaseId,
      query: Query,
      component_ids: Type.Optional(Type.Array(MsaComponentId)),
      parameters: closed(PARAMETERS),
      calibration_id: Type.Optional(text('Where the E-values in the headers come from.')),
      candidate_count: count('Candidates that could become rows.'),
      unaligned_count: count('Those without a pair of residues that scores above zero.'),
      filtered_count: count('Those that coverage, identity or E-value excludes.'),
      duplicate_count: count('Those whose row equals one before it, the query included.'),
      // Absent from alignments of an earlier version.
      redundant_count: Type.Optional(count('Those that are too much like a row before them.')),
      beyond_depth_count: count('Those that the depth leaves out.'),
      row_count: count('Rows, the query included.', { minimum: 1 }),
      a3m_sha256: sha256('SHA-256 of the A3M text.'),
      a3m_bytes: count('Length of the A3M text.'),
    },
    { description: 'How an immutable alignment was made, and of what.', chosen: true },
  ),
);

const shared = { tag: 'sequences', successStyle: 'envelope', errorStyle: 'envelope' } as const;

export const createMsaComponent = defineRoute({
  ...shared,
  operationId: 'sequences.msa.components.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/sequences/msa/components',
  summary: 'Place one sequence of a receipt into a component of an alignment',
  description:
    'The row of one aligned candidate over the query, while you may see the database that was searched. The same ' +
    'candidate gives the same component.',
  body: MsaComponentRequest,
  success: {
    status: 201,
    schema: envelopeOf('MsaComponentEnvelope', MsaComponent),
    description: 'The component.',
  },
  work: 'execution',
  refusals: [
    'receipt_not_found',
    'permission_denied',
    'release_not_found',
    'msa_alignments_missing',
    'msa_target_not_in_receipt',
  ],
});

export const createMsa = defineRoute({
  ...shared,
  operationId: 'sequences.msa.a3m.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/sequences/msa/a3m',
  summary: 'Build a multiple sequence alignment',
  description:
    'Stacks the aligned candidates of a receipt, or components, over the query: the query first, then by rank, or as ' +
    '`sort` says. What is no likely relative, covers little of the query or is nearly the same as another row is ' +
    'left out, unless asked for. Without E-values it carries the warning `msa_without_e_values`. ' +
    'The same inputs give the same id. Without any row but the query it carries the warning `msa_query_only`. ' +
    'It takes the grant of the database that was searched; what was built before stays readable after that.',
  body: MsaRequest,
  success: { status: 201, schema: envelopeOf('MsaEnvelope', Msa), description: 'How it was made.' },
  work: 'execution',
  refusals: [
    'budget_exhausted',
    'receipt_not_found',
    'permission_denied',
    'release_not_found',
    'msa_alignments_missing',
    'msa_component_not_found',
    'msa_components_mismatch',
    'significance_unavailable',
    'relatives_unavailable',
    'worker_unavailable',
    'msa_too_large',
  ],
});

export const getMsa = defineRoute({
  ...shared,
  operationId: 'sequences.msa.a3m.get',
  method: 'GET',
  path: '/v1/sequences/msa/a3m/{a3m_object_id}',
  summary: 'Download a multiple sequence alignment',
  description:
    'A3M as `text/plain`; as one JSON string where `Accept` prefers `application/json`. A header is the id, then ' +
    '`E=` (absent where no calibration supports an E-value), `identity=`, `coverage=` of the query, `taxid=` where ' +
    'it is known, `score=`, `query=` and `target=` with positions from 1. Lower-case letters are residues of the ' +
    'target between columns.',
  params: Type.Object({ a3m_object_id: MsaId }, { additionalProperties: false }),
  headers: {
    Accept: Type.String({
      maxLength: 4096,
      description: 'Chooses text or JSON; text where both are as welcome.',
    }),
    'If-None-Match': Type.String({ maxLength: 4096, description: '304 where the client has it already.' }),
  },
  success: {
    status: 200,
    schema: Type.Unsafe<never>({ type: 'string', description: 'The alignment.' }),
    description: 'The alignment. `ETag` is strong; it never changes.',
    mediaType: ANY_TYPE,
  },
  otherSuccesses: { 304: 'The client has it already.' },
  successStyle: 'bare',
  errorStyle: 'problem',
  work: 'light',
  refusals: ['msa_not_found', 'permission_denied'],
});

export type MsaComponentRequest = Static<typeof MsaComponentRequest>;
export type MsaComponent = Static<typeof MsaComponent>;
export type MsaChoice = Static<typeof MsaChoice>;
export type MsaRequest = Static<typeof MsaRequest>;
export type Msa = Static<typeof Msa>;
