import { describe, expect, it } from 'vitest';
import { CompilationFilter, HomologyFilter } from '#src/contract/search/filter.js';
import { Refusal } from '#src/errors.js';
import {
  FILTER_DICTIONARY_MAX_VALUES,
  FILTER_MAX_CLAUSES,
  FILTER_MAX_DEPTH,
  FILTER_MAX_SUBSTRINGS,
  FILTER_MAX_VALUES,
  FILTER_VALUE_MAX_CHARACTERS,
} from '#src/limits.js';
import { canonicalClause, compileFilter } from '#src/release/filter/filter.js';
import { eligibleTargets } from '#src/release/filter/evaluate.js';
import { COMPILATION_OPERATORS, HOMOLOGY_OPERATORS, type Predicate } from '#src/release/filter/operators.js';
import { fieldsOf, filteredRelease, type Row } from './filter-table.js';

const fields = fieldsOf(
  {
    organism: 'string',
    length: 'integer',
    score: 'number',
    reviewed: 'boolean',
    keywords: 'string_list',
    taxid: 'integer',
  },
  'taxid',
);
const rows: Row[] = [
  {
    organism: 'Escherichia coli',
    length: 100,
    score: 0.5,
    reviewed: true,
    keywords: ['kinase', 'ATP'],
    taxid: 83333,
  },
  {
    organism: 'Saccharomyces cerevisiae',
    length: 250,
    score: -1,
    reviewed: false,
    keywords: [],
    taxid: 4932,
  },
  { organism: '', length: 0, score: 0, keywords: ['ATP'], taxid: 999 },
  {},
];
/* 1 ← 2 ← 562 ← 83333, and 1 ← 4932; 999 is not in the taxonomy. */
const parents = new Map([
  [1, 1],
  [2, 1],
  [562, 2],
  [83333, 562],
  [4932, 1],
]);

function eligible(predicate: unknown): number[] {
  const { predicate: canonical } = compileFilter(predicate, fields, { place: ['body', 'filter'] });
  return [...eligibleTargets(canonicalClause(canonical, fields), filteredRelease(rows, parents))];
}

function canonical(predicate: unknown): unknown {
  return compileFilter(predicate, fields, { place: ['body', 'filter'] }).predicate;
}

function faults(predicate: unknown, operators?: typeof COMPILATION_OPERATORS): Record<string, string> {
  try {
    compileFilter(predicate, fields, { place: ['body', 'filter'], ...(operators && { operators }) });
  } catch (error) {
    expect(error).toBeInstanceOf(Refusal);
    expect((error as Refusal).code).toBe('invalid_filter');
    return Object.fromEntries(
      (error as Refusal).details.errors!.map((each) => [each.location, each.message]),
    );
  }
  return {};
}

describe('the operators', () => {
  it('are 13 on the compilation route and 21 on the homology route, with nothing twice', () => {
    expect(new Set(COMPILATION_OPERATORS.map(({ op }) => op)).size).toBe(13);
    expect(new Set(HOMOLOGY_OPERATORS.map(({ op }) => op)).size).toBe(21);
  });

  it.each([
    ['13', CompilationFilter, COMPILATION_OPERATORS],
    ['21', HomologyFilter, HOMOLOGY_OPERATORS],
  ])('are the %s alternatives of the contract, with exactly their members', (_, schema, operators) => {
    const { oneOf } = schema as unknown as {
      oneOf: { properties: { op: { const: string } }; required: string[] }[];
    };
    const promised = oneOf.map(({ properties, required }) => [properties.op.const, [...required].sort()]);
    const published = operators.map(({ op, keys }) => [op, ['op', ...keys].sort()]);
    expect(new Map(promised as [string, string[]][])).toEqual(new Map(published as [string, string[]][]));
  });

  it.each([
    [{ op: 'eq', field: 'organism', value: 'Escherichia coli' }, [0]],
    [{ op: 'eq', field: 'organism', value: 'escherichia coli' }, []],
    [{ op: 'eq', field: 'organism', value: '' }, [2]],
    [{ op: 'ne', field: 'organism', value: 'Escherichia coli' }, [1, 2]],
    [{ op: 'eq', field: 'length', value: '1e2' }, [0]],
    [{ op: 'eq', field: 'score', value: '-0' }, [2]],
    [{ op: 'eq', field: 'reviewed', value: 'false' }, [1]],
    [{ op: 'lt', field: 'length', value: '100' }, [2]],
    [{ op: 'lte', field: 'length', value: '100' }, [0, 2]],
    [{ op: 'gt', field: 'score', value: '-.5' }, [0, 2]],
    [{ op: 'gte', field: 'organism', value: 'F' }, [1]],
    [{ op: 'in', field: 'length', values: ['0', '250.0'] }, [1, 2]],
    [{ op: 'not_in', field: 'length', values: ['0', '250'] }, [0]],
    [{ op: 'between', field: 'length', values: ['0', '100'] }, [0, 2]],
    [{ op: 'not_between', field: 'length', values: ['0', '100'] }, [1]],
    [{ op: 'exists', field: 'reviewed' }, [0, 1]],
    [{ op: 'exists', field: 'keywords' }, [0, 1, 2]],
    [{ op: 'missing', field: 'reviewed' }, [2, 3]],
    [{ op: 'prefix', field: 'organism', value: 'Esch' }, [0]],
    [{ op: 'suffix', field: 'organism', value: 'siae' }, [1]],
    [{ op: 'contains', field: 'organism', value: 'ch' }, [0, 1]],
    [{ op: 'contains', field: 'keywords', value: 'AT' }, []],
    [{ op: 'contains', field: 'keywords', value: 'ATP' }, [0, 2]],
    [{ op: 'contains_any', field: 'keywords', values: ['kinase', 'zinc'] }, [0]],
    [{ op: 'contains_all', field: 'keywords', values: ['kinase', 'ATP'] }, [0]],
    [{ op: 'contains_all', field: 'organism', values: ['ch', 'cer'] }, [1]],
    [{ op: 'descends_from', field: 'taxid', value: '562' }, [0]],
    [{ op: 'descends_from', field: 'taxid', value: '1' }, [0, 1]],
    [{ op: 'descends_from', field: 'taxid', value: '999' }, [2]],
    [{ op: 'not', filter: { op: 'descends_from', field: 'taxid', value: '562' } }, [1]],
  ])('%j lets through the targets %j', (predicate, expected) => {
    expect(eligible(predicate)).toEqual(expected);
  });

  it('compare text by code point, where UTF-16 units would say otherwise', () => {
    const release = filteredRelease([{ organism: '\u{10000}' }, { organism: '\uffff' }]);
    const clause = canonicalClause({ op: 'gt', field: 'organism', value: '\ufffe' }, fields);
    expect([...eligibleTargets(clause, release)]).toEqual([0, 1]);
    const above = canonicalClause({ op: 'gt', field: 'organism', value: '\uffff' }, fields);
    expect([...eligibleTargets(above, release)]).toEqual([0]);
  });

  it('leave a missing field unknown, so that neither a comparison nor its negation is true', () => {
    const isCheap = { op: 'eq', field: 'reviewed', value: 'true' };
    expect(eligible({ op: 'or', filters: [isCheap, { op: 'not', filter: isCheap }] })).toEqual([0, 1]);
    expect(eligible({ op: 'or', filters: [isCheap, { op: 'missing', field: 'reviewed' }] })).toEqual([
      0, 2, 3,
    ]);
  });
});

describe('a field with a value of its own for nearly every target', () => {
  it('is filtered like any other', () => {
    const names = Array.from({ length: FILTER_DICTIONARY_MAX_VALUES + 3 }, (_, index) => `name ${index}`);
    const release = filteredRelease([...names.map((organism) => ({ organism })), {}]);
    const find = (predicate: Predicate) => [...eligibleTargets(canonicalClause(predicate, fields), release)];
    const last = names.length - 1;
    expect(find({ op: 'eq', field: 'organism', value: names[last] })).toEqual([last]);
    expect(find({ op: 'ne', field: 'organism', value: names[last] })).toHaveLength(last);
    expect(find({ op: 'missing', field: 'organism' })).toEqual([names.length]);
  });
});

describe('the canonical form', () => {
  const organism = { op: 'eq', field: 'organism', value: 'x' };
  const short = { op: 'lt', field: 'length', value: '10' };

  it('does not depend on order, duplicates, nesting, single clauses or double negation', () => {
    const plain = canonical({ op: 'and', filters: [organism, short] });
    for (const same of [
      { op: 'and', filters: [short, organism, short] },
      {
        op: 'and',
        filters: [
          { op: 'and', filters: [short] },
          { op: 'or', filters: [organism] },
        ],
      },
      { op: 'not', filter: { op: 'not', filter: { op: 'and', filters: [organism, short] } } },
      {
        op: 'not',
        filter: {
          op: 'or',
          filters: [
            { op: 'ne', field: 'organism', value: 'x' },
            { op: 'gte', field: 'length', value: '1e1' },
          ],
        },
      },
    ]) {
      expect(canonical(same)).toEqual(plain);
    }
  });

  it.each([
    [
      { op: 'eq', field: 'length', value: '1.0' },
      { op: 'eq', field: 'length', value: '1' },
    ],
    [
      { op: 'eq', field: 'length', value: '+01' },
      { op: 'eq', field: 'length', value: '1' },
    ],
    [
      { op: 'eq', field: 'length', value: '10e-1' },
      { op: 'eq', field: 'length', value: '1' },
    ],
    [
      { op: 'eq', field: 'score', value: '-0.0' },
      { op: 'eq', field: 'score', value: '0' },
    ],
    [
      { op: 'in', field: 'length', values: ['1', '1.0'] },
      { op: 'eq', field: 'length', value: '1' },
    ],
    [
      { op: 'not_in', field: 'length', values: ['2', '1', '2'] },
      { op: 'not_in', field: 'length', values: ['1', '2'] },
    ],
    [
      { op: 'contains_all', field: 'keywords', values: ['a'] },
      { op: 'contains', field: 'keywords', value: 'a' },
    ],
    [
      { op: 'not', filter: { op: 'exists', field: 'length' } },
      { op: 'missing', field: 'length' },
    ],
    [
      {
        op: 'or',
        filters: [
          { op: 'eq', field: 'length', value: '2' },
          { op: 'in', field: 'length', values: ['3', '1'] },
        ],
      },
      { op: 'in', field: 'length', values: ['1', '2', '3'] },
    ],
    [
      { op: 'between', field: 'length', values: ['1', '9'] },
      {
        op: 'and',
        filters: [
          { op: 'gte', field: 'length', value: '1' },
          { op: 'lte', field: 'length', value: '9' },
        ],
      },
    ],
    [
      {
        op: 'not',
        filter: {
          op: 'or',
          filters: [
            { op: 'contains', field: 'keywords', value: 'b' },
            { op: 'contains', field: 'keywords', value: 'a' },
          ],
        },
      },
      { op: 'not', filter: { op: 'contains_any', field: 'keywords', values: ['a', 'b'] } },
    ],
  ])('of %j is %j', (predicate, expected) => {
    expect(canonical(predicate)).toEqual(expected);
  });

  it('keeps apart what is different: text that looks like numbers, case, the sides of a negation', () => {
    const differing = [
      { op: 'eq', field: 'organism', value: '1' },
      { op: 'eq', field: 'organism', value: '1.0' },
      { op: 'ne', field: 'organism', value: '1' },
      { op: 'missing', field: 'organism' },
      { op: 'lt', field: 'length', value: '1' },
      { op: 'lte', field: 'length', value: '1' },
    ].map((predicate) => compileFilter(predicate, fields, { place: ['filter'] }).sha256);
    expect(new Set(differing).size).toBe(differing.length);
  });

  it('of the deepest and longest filter allowed is read back, although it is deeper and longer', () => {
    let deep: unknown = { op: 'not_between', field: 'length', values: ['1', '2'] };
    for (let depth = 1; depth < FILTER_MAX_DEPTH; depth += 1) {
      deep = {
        op: depth % 2 ? 'and' : 'or',
        filters: [deep, { op: 'eq', field: 'score', value: `${depth}` }].slice(0, depth > 13 ? 1 : 2),
      };
    }
    expect(canonicalClause(canonical(deep), fields)).toBeDefined();
    const many = Array.from({ length: FILTER_MAX_CLAUSES - 2 }, (_, index) => ({
      op: 'prefix',
      field: 'organism',
      value: `${index}`,
    }));
    const long = { op: 'not', filter: { op: 'and', filters: many } };
    expect(canonicalClause(canonical(long), fields)).toBeDefined();
  });
});

describe('a filter that is not valid', () => {
  it('is refused with every place that is wrong, and what to do there', () => {
    const faultsOfFields = faults({
      op: 'and',
      filters: [
        { op: 'eq', field: 'organsim', value: 'x' },
        { op: 'equals', field: 'organism', value: 'x' },
        {
          op: 'or',
          filters: [
            { op: 'lt', field: 'reviewed', value: 'true' },
            { op: 'eq', field: 'length', value: '1.5' },
          ],
        },
        { op: 'in', field: 'score', values: ['1', 'one', 2] },
        { op: 'not', filter: { op: 'exists', field: 'length', value: '1' } },
        { op: 'gt', field: 'length' },
        7,
      ],
    });
    expect(Object.keys(faultsOfFields)).toEqual([
      'body.filter.filters[0].field',
      'body.filter.filters[1].op',
      'body.filter.filters[2].filters[0].op',
      'body.filter.filters[2].filters[1].value',
      'body.filter.filters[3].values[1]',
      'body.filter.filters[3].values[2]',
      'body.filter.filters[4].filter.value',
      'body.filter.filters[5].value',
      'body.filter.filters[6]',
    ]);
    expect(faultsOfFields['body.filter.filters[0].field']).toContain('Did you mean "organism"?');
  });

  it.each([
    ['an operator of the other route', { op: 'prefix', field: 'organism', value: 'E' }, 'op'],
    ['no operator', {}, 'op'],
    ['an operator from the prototype', { op: 'toString' }, 'op'],
    ['no clauses', { op: 'and', filters: [] }, 'filters'],
    ['clauses that are no array', { op: 'or', filters: {} }, 'filters'],
    ['no nested filter', { op: 'not' }, 'filter'],
    ['a field from the prototype', { op: 'exists', field: 'constructor' }, 'field'],
    ['a field that is no name', { op: 'exists', field: 3 }, 'field'],
    ['no values', { op: 'in', field: 'length', values: [] }, 'values'],
    ['a JSON number as value', { op: 'eq', field: 'length', value: 3 }, 'value'],
    ['hexadecimal', { op: 'eq', field: 'length', value: '0x10' }, 'value'],
    ['an empty number', { op: 'eq', field: 'score', value: '' }, 'value'],
    ['a number with a space', { op: 'eq', field: 'score', value: ' 1' }, 'value'],
    ['infinity', { op: 'lt', field: 'score', value: 'Infinity' }, 'value'],
    ['a number beyond binary64', { op: 'lt', field: 'score', value: '1e999' }, 'value'],
    [
      'an integer that binary64 would round',
      { op: 'eq', field: 'length', value: '9007199254740993' },
      'value',
    ],
    ['a truth value in capitals', { op: 'eq', field: 'reviewed', value: 'TRUE' }, 'value'],
    ['a lone surrogate', { op: 'eq', field: 'organism', value: '\ud800' }, 'value'],
  ])('is refused for %s', (_, predicate, member) => {
    expect(Object.keys(faults(predicate, COMPILATION_OPERATORS))).toEqual([`body.filter.${member}`]);
  });

  it.each([
    ['low above high', { op: 'between', field: 'length', values: ['2', '1'] }, 'values'],
    ['three bounds', { op: 'between', field: 'length', values: ['1', '2', '3'] }, 'values'],
    ['equality with a list', { op: 'eq', field: 'keywords', value: 'a' }, 'op'],
    ['a subtree of a field without taxonomy', { op: 'descends_from', field: 'length', value: '2' }, 'field'],
  ])('of the homology route is refused for %s', (_, predicate, member) => {
    expect(Object.keys(faults(predicate))).toEqual([`body.filter.${member}`]);
  });

  it('is refused just over each bound and accepted at it', () => {
    const exists = { op: 'exists', field: 'length' };
    const nested = (depth: number): unknown =>
      depth === 1 ? exists : { op: 'not', filter: nested(depth - 1) };
    expect(faults(nested(FILTER_MAX_DEPTH))).toEqual({});
    expect(Object.values(faults(nested(FILTER_MAX_DEPTH + 1)))[0]).toContain(
      `${FILTER_MAX_DEPTH} clauses deep`,
    );

    const wide = (clauses: number): unknown => ({ op: 'or', filters: Array(clauses - 1).fill(exists) });
    expect(faults(wide(FILTER_MAX_CLAUSES))).toEqual({});
    expect(Object.keys(faults(wide(FILTER_MAX_CLAUSES + 5)))).toHaveLength(1);

    const list = (count: number): unknown => ({ op: 'in', field: 'length', values: Array(count).fill('1') });
    expect(faults(list(FILTER_MAX_VALUES))).toEqual({});
    expect(Object.keys(faults(list(FILTER_MAX_VALUES + 1)))).toEqual(['body.filter.values']);

    const parts = (count: number): unknown => ({
      op: 'contains_any',
      field: 'organism',
      values: Array(count).fill('a'),
    });
    expect(faults(parts(FILTER_MAX_SUBSTRINGS))).toEqual({});
    expect(Object.keys(faults(parts(FILTER_MAX_SUBSTRINGS + 1)))).toEqual(['body.filter.values']);

    const text = (count: number): unknown => ({ op: 'eq', field: 'organism', value: 'x'.repeat(count) });
    expect(faults(text(FILTER_VALUE_MAX_CHARACTERS))).toEqual({});
    expect(Object.keys(faults(text(FILTER_VALUE_MAX_CHARACTERS + 1)))).toEqual(['body.filter.value']);
  });
});
