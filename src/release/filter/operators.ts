import type { AttributeType } from '../release.js';

/*
 * Meaning of each operator for each type of field. P = the field's present value, V = the filter's value(s).
 *
 *                             string              integer, number   boolean    string_list
 *   eq ne                     P = V, exactly      numerically       P = V      refused
 *   in not_in                 P = any V           numerically       P = any V  refused
 *   lt lte gt gte             by code point       numerically       refused    refused
 *   between not_between       by code point       numerically       refused    refused
 *   prefix suffix             start, end of P     refused           refused    refused
 *   contains                  V is a part of P    refused           refused    V is an element of P
 *   contains_any contains_all any, every V is     refused           refused    any, every V is an element of P
 *   descends_from             refused             see below         refused    refused
 *   exists missing            all types: whether the target has the field at all; an empty text or list is present
 *
 * A missing field makes every operator but `exists` and `missing` unknown (strong Kleene logic), `ne`, `not_in` and
 * `not_between` too; only targets for which the whole filter is true are eligible. Text is compared code point by code
 * point, without case folding or Unicode normalisation. `between` takes [low, high], both inclusive, low ≤ high.
 * `descends_from` applies to the taxid field of a release with a taxonomy. It is true if V is P or an ancestor of P. It
 * is unknown if the release's taxonomy lacks P and P is not V.
 */

/** Members of a predicate besides `op`. */
export type FilterKey = 'filters' | 'filter' | 'field' | 'value' | 'values';

/** One alternative of the predicate union: `op` and exactly these other members, all of them required. */
export interface OperatorShape {
  readonly op: string;
  readonly keys: readonly FilterKey[];
  /** Types of field that it takes; empty for the operators that combine predicates. */
  readonly fieldTypes: readonly AttributeType[];
  /** Exact length of `values`; absent = at least one. */
  readonly valueCount?: number;
  /** True where the field must be the taxid field of a release with a taxonomy. */
  readonly needsTaxonomy?: boolean;
}

const EVERY_TYPE: readonly AttributeType[] = ['string', 'integer', 'number', 'boolean', 'string_list'];
const SCALAR: readonly AttributeType[] = ['string', 'integer', 'number', 'boolean'];
const ORDERED: readonly AttributeType[] = ['string', 'integer', 'number'];
const TEXTS: readonly AttributeType[] = ['string', 'string_list'];

/** The 13 shapes of the compilation route. */
export const COMPILATION_OPERATORS = [
  { op: 'and', keys: ['filters'], fieldTypes: [] },
  { op: 'or', keys: ['filters'], fieldTypes: [] },
  { op: 'not', keys: ['filter'], fieldTypes: [] },
  { op: 'eq', keys: ['field', 'value'], fieldTypes: SCALAR },
  { op: 'ne', keys: ['field', 'value'], fieldTypes: SCALAR },
  { op: 'lt', keys: ['field', 'value'], fieldTypes: ORDERED },
  { op: 'lte', keys: ['field', 'value'], fieldTypes: ORDERED },
  { op: 'gt', keys: ['field', 'value'], fieldTypes: ORDERED },
  { op: 'gte', keys: ['field', 'value'], fieldTypes: ORDERED },
  { op: 'in', keys: ['field', 'values'], fieldTypes: SCALAR },
  { op: 'not_in', keys: ['field', 'values'], fieldTypes: SCALAR },
  { op: 'exists', keys: ['field'], fieldTypes: EVERY_TYPE },
  { op: 'missing', keys: ['field'], fieldTypes: EVERY_TYPE },
] as const satisfies readonly OperatorShape[];

/** The 21 shapes of the homology route. */
export const HOMOLOGY_OPERATORS = [
  ...COMPILATION_OPERATORS,
  { op: 'between', keys: ['field', 'values'], fieldTypes: ORDERED, valueCount: 2 },
  { op: 'not_between', keys: ['field', 'values'], fieldTypes: ORDERED, valueCount: 2 },
  { op: 'prefix', keys: ['field', 'value'], fieldTypes: ['string'] },
  { op: 'suffix', keys: ['field', 'value'], fieldTypes: ['string'] },
  { op: 'contains', keys: ['field', 'value'], fieldTypes: TEXTS },
  { op: 'contains_any', keys: ['field', 'values'], fieldTypes: TEXTS },
  { op: 'contains_all', keys: ['field', 'values'], fieldTypes: TEXTS },
  { op: 'descends_from', keys: ['field', 'value'], fieldTypes: ['integer'], needsTaxonomy: true },
] as const satisfies readonly OperatorShape[];

/** Operators that take a field of this type, in the order of the table. */
export function operatorsOf(type: AttributeType, isTaxonomy: boolean): string[] {
  return (HOMOLOGY_OPERATORS as readonly OperatorShape[])
    .filter(
      ({ fieldTypes, needsTaxonomy = false }) => fieldTypes.includes(type) && (isTaxonomy || !needsTaxonomy),
    )
    .map(({ op }) => op);
}

export type FilterOperator = (typeof HOMOLOGY_OPERATORS)[number]['op'];

/** A predicate as it travels. Values are text, read by the type of the field. */
export type Predicate =
  | { readonly op: 'and' | 'or'; readonly filters: readonly Predicate[] }
  | { readonly op: 'not'; readonly filter: Predicate }
  | { readonly op: 'exists' | 'missing'; readonly field: string }
  | { readonly op: SingleValueOperator; readonly field: string; readonly value: string }
  | { readonly op: ManyValuesOperator; readonly field: string; readonly values: readonly string[] };

export type SingleValueOperator = Extract<
  (typeof HOMOLOGY_OPERATORS)[number],
  { keys: readonly ['field', 'value'] }
>['op'];
export type ManyValuesOperator = Extract<
  (typeof HOMOLOGY_OPERATORS)[number],
  { keys: readonly ['field', 'values'] }
>['op'];
