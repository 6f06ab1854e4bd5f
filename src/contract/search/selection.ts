import { Type, type Static } from '@sinclair/typebox';
import { closed, enumeration, quantity, ratio } from '../grammar/schema.js';

/* Selection and order of candidates, with the same members in every request that has them. */

/** Cut-offs that a candidate must pass. */
export const CUT_OFFS = {
  maximum_expected_false_hits: Type.Optional(
    quantity(
      'Largest E-value; candidates without an E-value are left out. With `alignments`, the smallest E-value of the ' +
        'alignments of a candidate counts.',
      { minimum: 0 },
    ),
  ),
  minimum_query_coverage_ratio: Type.Optional(
    ratio('Minimum query coverage: length of the aligned part of the query ÷ length of the query.'),
  ),
  minimum_target_coverage_ratio: Type.Optional(
    ratio('Minimum target coverage: length of the aligned part of the target ÷ length of the target.'),
  ),
  minimum_sequence_identity_ratio: Type.Optional(
    ratio('Minimum sequence identity of the alignment, gaps included.'),
  ),
};

const CUT_OFFS_OBJECT = closed(CUT_OFFS);

const SORT_ORDERS = {
  rank: 'by `rank`, the order of distances',
  evalue: 'by E-value, candidates without one last; equal E-values by affine score, then by rank',
  score: 'by affine score, best first; equal scores by rank',
} as const;

export const Sort = enumeration(SORT_ORDERS, { description: 'Order of the candidates of each query.' });

export type CutOffs = Static<typeof CUT_OFFS_OBJECT>;
export type Sort = Static<typeof Sort>;
