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

export const MsaId = text(
  'Id of a multiple sequence alignment: `msa_` and a hash of its content, inputs and parameters.',
  {
    pattern: '^msa_[0-9a-f]{64}$',
  },
);
const MsaComponentId = text('Id of a component: `msac_` and a hash of its content.', {
  pattern: '^msac_[0-9a-f]{64}$',
});

const Query = closed({
  length: count('Length of the query in residues, which is the number of columns of the alignment.'),
  sha256: sha256('SHA-256 of the normalised query.'),
});

const SELECTION = enumeration(
  {
    identity_strata:
      'round robin over ten classes of sequence identity with the query, each 0.1 wide, from the ' +
      'highest class; each turn takes the next row of the class in the order `sort`',
    rank: 'the first rows in the order `sort`',
  },
  {
    description: 'Rows that stay if more rows pass than `maximum_depth` allows. The rows keep their order.',
  },
);

/** Selection of rows from those that pass the cut-offs. */
const CHOICE = {
  maximum_depth: defaulted(
    MSA_DEFAULT_DEPTH,
    Type.Integer({
      minimum: 1,
      maximum: MSA_MAX_DEPTH,
      description: 'Maximum number of rows, including the query.',
    }),
  ),
  maximum_sequence_identity_ratio: defaulted(1, ratio('Maximum sequence identity of a row with the query.')),
  maximum_pairwise_identity_ratio: Type.Optional(
    ratio(
      'Maximum sequence identity of two rows, over the columns in which both have a residue. Of two ' +
        'rows with a higher identity, the first stays. The query always stays. 1 removes no row. Default: ' +
        `${MSA_DEFAULT_PAIRWISE_IDENTITY}.`,
    ),
  ),
  diverse_row_count: Type.Optional(
    count(
      'Number of rows that each block of 50 columns keeps, as by `hhfilter -diff`. The bound on ' +
        'pairwise identity starts at 0.2 and rises up to `maximum_pairwise_identity_ratio`, until each ' +
        'block has this many rows. 0, the default, uses the final bound alone.',
    ),
  ),
  minimum_normalized_score: Type.Optional(
    quantity(
      `Minimum normalised affine score. Default: ${MSA_DEFAULT_NORMALIZED_SCORE} if no candidate has an ` +
        'E-value, otherwise 0.',
      { minimum: 0 },
    ),
  ),
  selection: defaulted('identity_strata', SELECTION),
};

const PARAMETERS = {
  ...CHOICE,
  minimum_query_coverage_ratio: defaulted(
    MSA_DEFAULT_QUERY_COVERAGE,
    ratio('Minimum query coverage: length of the aligned stretch of the query ÷ length of the query.'),
  ),
  minimum_target_coverage_ratio: CUT_OFFS.minimum_target_coverage_ratio,
  minimum_sequence_identity_ratio: defaulted(0, ratio('Minimum sequence identity of a row with the query.')),
  maximum_expected_false_hits: Type.Optional(
    quantity(
      'Maximum E-value. Candidates without an E-value are left out. Default: ' +
        `${MSA_DEFAULT_EXPECTED_FALSE_HITS} if any candidate has an E-value. Otherwise ` +
        `\`minimum_normalized_score\` applies instead, with the default ${MSA_DEFAULT_NORMALIZED_SCORE}, ` +
        'and the response has a warning.',
      { minimum: 0 },
    ),
  ),
  sort: Type.Optional(Sort),
};

/** Selection of the rows of an alignment in an export, which has cut-offs and an order of its own. */
export const MsaChoice = named(
  'MsaChoice',
  closed(CHOICE, {
    description: 'Selection of the rows of `a3m` from the candidates that pass the cut-offs.',
    chosen: true,
  }),
);

export const MsaComponentRequest = named(
  'MsaComponentRequest',
  closed(
    {
      receipt_id: ReceiptId,
      target_id: text('Id of one candidate of the receipt.', { minLength: 1, maxLength: 256 }),
    },
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
      query_coverage_ratio: ratio(
        'Query coverage: length of the aligned stretch of the query ÷ length of the query.',
      ),
      sequence_identity_ratio: ratio('Identical residues ÷ columns of the alignment, gaps included.'),
      expected_false_hits: Type.Optional(
        quantity('E-value in the searched target space. Absent if no calibration supports it.', {
          minimum: 0,
        }),
      ),
      header: text('A3M header of the row, without `>`.'),
      row: text('A3M row.'),
    },
    { description: 'One candidate of a receipt as a row that is aligned to the query.', chosen: true },
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
            'Components that become the rows, ranked in this order, instead of the candidates of the receipt. ' +
            'Their query must be the query of the receipt.',
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
      calibration_id: Type.Optional(text('Id of the calibration of the E-values in the headers.')),
      candidate_count: count('Number of candidates or components from which rows are selected.'),
      unaligned_count: count(
        'Number of candidates without an alignment, because no pair of residues scores above zero.',
      ),
      filtered_count: count('Number of candidates that coverage, identity, E-value or score excludes.'),
      duplicate_count: count('Number of candidates whose row equals an earlier row or the query.'),
      // Absent from alignments of an earlier version.
      redundant_count: Type.Optional(
        count('Number of candidates whose row is too similar to an earlier row.'),
      ),
      beyond_depth_count: count('Number of candidates that `maximum_depth` excludes.'),
      row_count: count('Number of rows, including the query.', { minimum: 1 }),
      a3m_sha256: sha256('SHA-256 of the A3M text.'),
      a3m_bytes: count('Size of the A3M text in bytes.'),
    },
    { description: 'Manifest of an immutable alignment: its inputs, parameters and counts.', chosen: true },
  ),
);

const shared = { tag: 'sequences', successStyle: 'envelope', errorStyle: 'envelope' } as const;

export const createMsaComponent = defineRoute({
  ...shared,
  operationId: 'sequences.msa.components.create',
  method: 'POST',
  retry: 'same',
  path: '/v1/sequences/msa/components',
  summary: 'Create a component of an alignment from one candidate of a receipt',
  description:
    'Creates the row of one aligned candidate over the query. The organization must have access to ' +
    'the searched database. The same candidate and calibration give the same component.',
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
    'Builds an alignment from the aligned candidates of a receipt, or from components. The query is ' +
    'the first row. The other rows are in order of rank, or in the order `sort`. By default, ' +
    'candidates are left out that are unlikely homologs, cover little of the query or are nearly ' +
    'identical to another row. The same inputs and calibration give the same id. The warning ' +
    '`msa_without_e_values` means that no candidate has an E-value, so that a minimum score selects ' +
    'the rows. The warning `msa_query_only` means that the query is the only row. The organization ' +
    'must have access to the searched database. Existing alignments stay readable after this access ' +
    'ends.',
  body: MsaRequest,
  success: {
    status: 201,
    schema: envelopeOf('MsaEnvelope', Msa),
    description: 'The manifest of the alignment.',
  },
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
    'Returns A3M as `text/plain`, or as one JSON string if `Accept` prefers `application/json`. A ' +
    'header has the id, then `E=` (absent if no calibration supports an E-value), `identity=`, ' +
    '`coverage=` (of the query), `taxid=` (if known), `score=`, `query=` and `target=`. The positions ' +
    'in `query=` and `target=` start at 1. Lower-case letters are residues of the target between ' +
    'columns.',
  params: Type.Object({ a3m_object_id: MsaId }, { additionalProperties: false }),
  headers: {
    Accept: Type.String({
      maxLength: 4096,
      description: 'Selects text or JSON. Text if both have the same quality.',
    }),
    'If-None-Match': Type.String({
      maxLength: 4096,
      description: 'Status 304 if the copy of the client is up to date.',
    }),
  },
  success: {
    status: 200,
    schema: Type.Unsafe<never>({ type: 'string', description: 'The alignment.' }),
    description: 'The alignment. `ETag` is strong. The content never changes.',
    mediaType: ANY_TYPE,
  },
  otherSuccesses: { 304: 'The copy of the client is up to date.' },
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
