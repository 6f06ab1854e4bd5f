import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalClause, compileFilter } from '#src/release/filter/filter.js';
import { eligibleTargets } from '#src/release/filter/evaluate.js';
import type { Predicate } from '#src/release/filter/operators.js';
import type { AttributeValue, FilterField } from '#src/release/release.js';
import { fieldsOf, filteredRelease, type Row } from './filter-table.js';

/* Random filters over random tables, against a plain interpreter that works row by row with true, false, unknown. */

const types = {
  text: 'string',
  count: 'integer',
  ratio: 'number',
  flag: 'boolean',
  list: 'string_list',
  taxid: 'integer',
} as const;
const fields: readonly FilterField[] = fieldsOf(types, 'taxid');
const parents = new Map([
  [1, 1],
  [2, 1],
  [3, 2],
  [4, 2],
  [5, 1],
]);
const seed = Number(process.env['GLOAMING_TEST_SEED'] ?? Date.now() % 2 ** 31);
const options = { seed, numRuns: 1_500 };

const words = ['', 'a', 'b', 'ab', 'ba', 'abc', '\uffff', '\u{10000}'];
const word = fc.constantFrom(...words);
const integer = fc.constantFrom(-1, 0, 1, 2, 10);
const ratio = fc.constantFrom(-0.5, 0, 0.25, 1, 1e21);

const row: fc.Arbitrary<Row> = fc.record(
  {
    text: word,
    count: integer,
    ratio,
    flag: fc.boolean(),
    list: fc.array(word, { maxLength: 3 }),
    taxid: fc.constantFrom(1, 2, 3, 4, 5, 77),
  },
  { requiredKeys: [] },
);

/** Equal numbers, differently written. */
const spelled = (value: number): fc.Arbitrary<string> =>
  fc.constantFrom(
    String(value),
    `${value < 0 ? '' : '+'}${value}`,
    value.toExponential(),
    Number.isInteger(value) && value < 100 ? `${value}.0` : String(value),
  );

const valueOfField = {
  text: word,
  count: integer.chain(spelled),
  ratio: ratio.chain(spelled),
  flag: fc.constantFrom('true', 'false'),
  list: word,
  taxid: fc.constantFrom('1', '2', '3', '4', '5', '77', '88'),
};
type FieldName = keyof typeof valueOfField;

function tests(
  ops: readonly string[],
  names: readonly FieldName[],
  kind: 'value' | 'values',
): fc.Arbitrary<Predicate> {
  return fc.constantFrom(...names).chain((field) => {
    const value = valueOfField[field];
    const values = fc.array(value as fc.Arbitrary<string>, { minLength: 1, maxLength: 3 });
    const rest: Record<string, fc.Arbitrary<unknown>> = kind === 'value' ? { value } : { values };
    return fc.record({
      op: fc.constantFrom(...ops),
      field: fc.constant(field),
      ...rest,
    }) as fc.Arbitrary<Predicate>;
  });
}

const scalar: FieldName[] = ['text', 'count', 'ratio', 'flag'];
const range = fc
  .tuple(fc.constantFrom('between', 'not_between'), integer, integer)
  .map(
    ([op, a, b]) => ({ op, field: 'count', values: [`${Math.min(a, b)}`, `${Math.max(a, b)}`] }) as Predicate,
  );
const test: fc.Arbitrary<Predicate> = fc.oneof(
  tests(['eq', 'ne'], scalar, 'value'),
  tests(['in', 'not_in'], scalar, 'values'),
  tests(['lt', 'lte', 'gt', 'gte'], ['text', 'count', 'ratio'], 'value'),
  tests(['prefix', 'suffix'], ['text'], 'value'),
  tests(['contains'], ['text', 'list'], 'value'),
  tests(['contains_any', 'contains_all'], ['text', 'list'], 'values'),
  tests(['descends_from'], ['taxid'], 'value'),
  range,
  fc.record({
    op: fc.constantFrom('exists' as const, 'missing' as const),
    field: fc.constantFrom(...fields.map(({ name }) => name)),
  }),
);

/** Trees of at most so many levels above the tests. */
function predicateTree(levels: number): fc.Arbitrary<Predicate> {
  if (levels === 0) return test;
  const inner = predicateTree(levels - 1);
  return fc.oneof(
    test,
    fc.record({
      op: fc.constantFrom('and' as const, 'or' as const),
      filters: fc.array(inner, { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ op: fc.constant('not' as const), filter: inner }),
  );
}

describe(`random filters (seed ${seed})`, () => {
  it('select the targets for which a plain three-valued interpreter returns true', () => {
    fc.assert(
      fc.property(predicateTree(4), fc.array(row, { maxLength: 70 }), (filter, rows) => {
        const expected = rows.flatMap((each, index) => (interpret(filter, each) === true ? [index] : []));
        expect(eligible(filter, rows)).toEqual(expected);
      }),
      options,
    );
  });

  it('have a canonical form that is its own canonical form', () => {
    fc.assert(
      fc.property(predicateTree(4), (filter) => {
        const once = compile(filter);
        expect(compile(once.predicate)).toEqual(once);
      }),
      options,
    );
  });

  it('keep their canonical form when they are rewritten, and so their targets', () => {
    fc.assert(
      fc.property(
        // Depth 2, because a rewrite adds up to four levels to each level of the predicate.
        predicateTree(2),
        fc.infiniteStream(fc.nat()),
        fc.array(row, { maxLength: 20 }),
        (filter, choices, rows) => {
          const other = rewrite(filter, () => choices.next().value!);
          expect(compile(other)).toEqual(compile(filter));
          expect(eligible(other, rows)).toEqual(eligible(filter, rows));
        },
      ),
      options,
    );
  });
});

function compile(filter: Predicate): ReturnType<typeof compileFilter> {
  return compileFilter(filter, fields, { place: ['filter'] });
}

function eligible(filter: Predicate, rows: readonly Row[]): number[] {
  return [
    ...eligibleTargets(canonicalClause(compile(filter).predicate, fields), filteredRelease(rows, parents)),
  ];
}

type Truth = boolean | undefined;

function interpret(filter: Predicate, target: Row): Truth {
  switch (filter.op) {
    case 'and':
    case 'or': {
      const outcomes = filter.filters.map((each) => interpret(each, target));
      const decisive = filter.op === 'or';
      return outcomes.includes(decisive) ? decisive : outcomes.includes(undefined) ? undefined : !decisive;
    }
    case 'not':
      return negated(interpret(filter.filter, target));
    case 'exists':
    case 'missing':
      return filter.field in target === (filter.op === 'exists');
    default: {
      const value = target[filter.field];
      const texts = 'values' in filter ? filter.values : [filter.value];
      return value === undefined ? undefined : interpretTest(filter.op, value, texts);
    }
  }
}

function negated(truth: Truth): Truth {
  return truth === undefined ? undefined : !truth;
}

function interpretTest(op: string, value: AttributeValue, texts: readonly string[]): Truth {
  const [first, second] = texts;
  const isEqual = (text: string): boolean =>
    typeof value === 'number' ? value === Number(text) : String(value) === text;
  const holds = (text: string): boolean => (value as string | readonly string[]).includes(text);
  switch (op) {
    case 'eq':
      return isEqual(first!);
    case 'ne':
      return !isEqual(first!);
    case 'in':
      return texts.some(isEqual);
    case 'not_in':
      return !texts.some(isEqual);
    case 'lt':
      return order(value, first!) < 0;
    case 'lte':
      return order(value, first!) <= 0;
    case 'gt':
      return order(value, first!) > 0;
    case 'gte':
      return order(value, first!) >= 0;
    case 'between':
      return order(value, first!) >= 0 && order(value, second!) <= 0;
    case 'not_between':
      return order(value, first!) < 0 || order(value, second!) > 0;
    case 'prefix':
      return (value as string).startsWith(first!);
    case 'suffix':
      return (value as string).endsWith(first!);
    case 'contains':
      return holds(first!);
    case 'contains_any':
      return texts.some(holds);
    case 'contains_all':
      return texts.every(holds);
    case 'descends_from':
      return descends(value as number, Number(first));
    default:
      throw new Error(`The interpreter does not know ${op}.`);
  }
}

/** Text order from the code points themselves. */
function order(value: AttributeValue, text: string): number {
  if (typeof value === 'number') return value - Number(text);
  const [left, right] = [[...(value as string)], [...text]].map((characters) =>
    characters.map((each) => each.codePointAt(0)!),
  );
  for (let index = 0; index < Math.min(left!.length, right!.length); index += 1) {
    if (left![index] !== right![index]) return left![index]! - right![index]!;
  }
  return left!.length - right!.length;
}

function descends(taxid: number, ancestor: number): Truth {
  if (taxid === ancestor) return true;
  if (!parents.has(taxid)) return undefined;
  return taxid === 1 ? false : descends(parents.get(taxid)!, ancestor);
}

const NEGATIONS: Readonly<Record<string, string>> = {
  eq: 'ne',
  ne: 'eq',
  in: 'not_in',
  not_in: 'in',
  lt: 'gte',
  gte: 'lt',
  lte: 'gt',
  gt: 'lte',
  exists: 'missing',
  missing: 'exists',
  between: 'not_between',
  not_between: 'between',
};

/** Another filter of the same meaning, by rewrites that the canonical form promises to see through. */
function rewrite(filter: Predicate, choose: () => number): Predicate {
  const inner = rewriteInside(filter, choose);
  switch (choose() % 6) {
    case 0:
      return { op: 'not', filter: { op: 'not', filter: inner } };
    case 1:
      return { op: choose() % 2 ? 'and' : 'or', filters: [inner] };
    case 2:
      return { op: choose() % 2 ? 'and' : 'or', filters: [inner, rewriteInside(filter, choose)] };
    case 3:
      return inner.op in NEGATIONS
        ? { op: 'not', filter: { ...inner, op: NEGATIONS[inner.op] } as Predicate }
        : inner;
    case 4:
      return inner.op === 'and' || inner.op === 'or'
        ? {
            op: 'not',
            filter: {
              op: inner.op === 'and' ? 'or' : 'and',
              filters: inner.filters.map((each) => ({ op: 'not', filter: each })),
            },
          }
        : inner;
    default:
      return inner;
  }
}

function rewriteInside(filter: Predicate, choose: () => number): Predicate {
  if (filter.op === 'not') return { op: 'not', filter: rewrite(filter.filter, choose) };
  if (filter.op === 'and' || filter.op === 'or') {
    const filters = shuffled(
      filter.filters.map((each) => rewrite(each, choose)),
      choose,
    );
    const cut = choose() % filters.length;
    // Part of the clauses one level down.
    if (cut > 0)
      return {
        op: filter.op,
        filters: [...filters.slice(cut), { op: filter.op, filters: filters.slice(0, cut) }],
      };
    return { op: filter.op, filters };
  }
  if ('values' in filter && filter.op !== 'between' && filter.op !== 'not_between') {
    return { ...filter, values: shuffled([...filter.values, filter.values[0]!], choose) };
  }
  if (filter.op === 'eq') return { op: 'in', field: filter.field, values: [filter.value, filter.value] };
  if (filter.op === 'between') {
    const [low, high] = filter.values;
    const { field } = filter;
    return {
      op: 'and',
      filters: [
        { op: 'lte', field, value: high! },
        { op: 'gte', field, value: low! },
      ],
    };
  }
  return filter;
}

function shuffled<Item>(items: readonly Item[], choose: () => number): Item[] {
  return items
    .map((item) => ({ item, key: choose() }))
    .sort((left, right) => left.key - right.key)
    .map(({ item }) => item);
}
