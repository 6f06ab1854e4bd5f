import { Type, type Static } from '@sinclair/typebox';
import { closed, enumeration, quantity, ratio } from '../grammar/schema.js';

/* Selection and order of candidates, with the same members in every request that has them. */

/** Cut-offs that a candidate must pass. */
export const CUT_OFFS = {
  maximum_expected_false_hits: Type.Optional(
    quantity('Greatest E-value; candidates without one are left out.', { minimum: 0 }),
  ),
  minimum_query_coverage_ratio: Type.Optional(ratio('Least aligned stretch of the query ÷ its length.')),
  minimum_target_coverage_ratio: Type.Optional(ratio('Least aligned stretch of the target ÷ its length.')),
  minimum_sequence_identity_ratio: Type.Optional(
    ratio('Least sequence identity of the alignment, gaps included.'),
  ),
};

const CUT_OFFS_OBJECT = closed(CUT_OFFS);

const SORT_ORDERS = {
  rank: 'by distance, as the search ranked them',
  evalue: 'by E-value, those without one last; equal ones by score, then by rank',
  score: 'by affine score, best first; equal ones by rank',
} as const;

export const Sort = enumeration(SORT_ORDERS, { description: 'Order of the candidates of each query.' });

export type CutOffs = Static<typeof CUT_OFFS_OBJECT>;
export type Sort = Static<typeof Sort>;
