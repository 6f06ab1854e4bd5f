import { Type, type TSchema } from '@sinclair/typebox';
import { FILTER_MAX_CLAUSES, FILTER_MAX_VALUES, FILTER_VALUE_MAX_CHARACTERS } from '../../limits.js';
import { closed, constant, named } from '../grammar/schema.js';

/*
 * The metadata predicate: a union of closed alternatives, discriminated by `op`. Values are strings and are parsed by
 * the field's type: numbers in decimal notation, `true`, `false`. A JSON number is refused. Records with a missing
 * field are evaluated by strong Kleene logic. A comparison with a missing value is unknown, `not unknown` is unknown,
 * and `exists` and `missing` are total. Only records that evaluate to true are eligible.
 */

const COMPILATION_VALUE_OPS = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const;
const HOMOLOGY_VALUE_OPS = [
  ...COMPILATION_VALUE_OPS,
  'prefix',
  'suffix',
  'contains',
  'descends_from',
] as const;
const COMPILATION_VALUES_OPS = ['in', 'not_in'] as const;
const HOMOLOGY_VALUES_OPS = [
  'in',
  'not_in',
  'between',
  'not_between',
  'contains_any',
  'contains_all',
] as const;
const GROUP_OPS = ['and', 'or'] as const;
const PRESENCE_OPS = ['exists', 'missing'] as const;

const MEANINGS = {
  and: 'True when every nested filter is true.',
  or: 'True when any nested filter is true.',
  not: 'Negates the nested filter; unknown stays unknown.',
  eq: 'The field equals the value; numbers are compared as numbers.',
  ne: 'The negation of `eq`.',
  lt: 'The field is less than the value.',
  lte: 'The field is at most the value.',
  gt: 'The field is greater than the value.',
  gte: 'The field is at least the value.',
  prefix: 'The field starts with the value.',
  suffix: 'The field ends with the value.',
  contains: 'A text has the value as a substring; a string list has it as an element.',
  descends_from: 'The taxid is the value or a descendant of it in the taxonomy of the release.',
  in: 'The field equals one of the values.',
  not_in: 'The negation of `in`.',
  between: 'The field is between the two values, low and high, both inclusive.',
  not_between: 'The negation of `between`.',
  contains_any: '`contains` holds for at least one of the values.',
  contains_all: '`contains` holds for every one of the values.',
  exists: 'The record has the field.',
  missing: 'The record lacks the field.',
} as const;

export type FilterOperator = keyof typeof MEANINGS;

type Filter<ValueOp extends string, ValuesOp extends string> =
  | { readonly op: 'and' | 'or'; readonly filters: readonly Filter<ValueOp, ValuesOp>[] }
  | { readonly op: 'not'; readonly filter: Filter<ValueOp, ValuesOp> }
  | { readonly op: ValueOp; readonly field: string; readonly value: string }
  | { readonly op: ValuesOp; readonly field: string; readonly values: readonly string[] }
  | { readonly op: 'exists' | 'missing'; readonly field: string };

/** Filter of the compilation route, with 13 alternatives. */
export type CompilationFilter = Filter<
  (typeof COMPILATION_VALUE_OPS)[number],
  (typeof COMPILATION_VALUES_OPS)[number]
>;
/** Filter of the homology route, with 21 alternatives. */
export type HomologyFilter = Filter<
  (typeof HOMOLOGY_VALUE_OPS)[number],
  (typeof HOMOLOGY_VALUES_OPS)[number]
>;

const FIELD = Type.String({
  minLength: 1,
  maxLength: 256,
  description:
    "A field of the release's filter schema; `GET /v1/homology/databases/{id}/releases` lists them.",
});
const VALUE = Type.String({
  maxLength: FILTER_VALUE_MAX_CHARACTERS,
  description: 'Value as text, parsed by the type of the field.',
});

/** Returns the union of alternatives for one route, and each alternative as a named schema. */
function filterUnion(
  name: string,
  valueOps: readonly FilterOperator[],
  valuesOps: readonly FilterOperator[],
) {
  const self = Type.Unsafe({ $ref: name });
  const nested = Type.Array(self, { minItems: 1, maxItems: FILTER_MAX_CLAUSES });
  const members = (op: FilterOperator): Record<string, TSchema> => {
    if ((GROUP_OPS as readonly string[]).includes(op)) return { filters: nested };
    if (op === 'not') return { filter: self };
    if ((PRESENCE_OPS as readonly string[]).includes(op)) return { field: FIELD };
    if (valueOps.includes(op)) return { field: FIELD, value: VALUE };
    const bounds = op.endsWith('between')
      ? { minItems: 2, maxItems: 2 }
      : { minItems: 1, maxItems: FILTER_MAX_VALUES };
    return { field: FIELD, values: Type.Array(VALUE, bounds) };
  };
  const ops = [...GROUP_OPS, 'not', ...valueOps, ...valuesOps, ...PRESENCE_OPS] as readonly FilterOperator[];
  const alternatives = ops.map((op) =>
    named(
      `${name}.${op}`,
      closed({ op: constant(op), ...members(op) }, { description: MEANINGS[op], chosen: true }),
    ),
  );
  return {
    $id: name,
    type: 'object',
    description:
      'A predicate over the attributes of a target. Fields, operators and limits follow the immutable filter schema ' +
      'of the release. A comparison with a missing field is unknown. Only targets for which the whole filter is true ' +
      'are eligible.',
    discriminator: { propertyName: 'op' },
    required: ['op'],
    oneOf: alternatives,
  };
}

export const CompilationFilter = Type.Unsafe<CompilationFilter>(
  filterUnion('TargetSpaceFilter', COMPILATION_VALUE_OPS, COMPILATION_VALUES_OPS),
);
export const HomologyFilter = Type.Unsafe<HomologyFilter>(
  filterUnion('HomologyFilter', HOMOLOGY_VALUE_OPS, HOMOLOGY_VALUES_OPS),
);
