import { canonicalJson } from '../../canonical.js';
import type { FilterOperator, Predicate } from './operators.js';
import type { FilterField } from '../release.js';

/*
 * The inside of a filter: negation normal form over few tests, from which one canonical predicate is written.
 *
 * Every rewrite here holds in strong Kleene logic, where and/or are minimum and maximum and not swaps true and false:
 * De Morgan, double negation, flattening, order, duplicates. These rewrites of tests hold: ne = not eq, lt = not gte,
 * eq = in with one value, or of eq = in, between = and(gte, lte), contains_all = and of contains. On both sides, a test
 * of a present value is true or false, and a test of a missing value is unknown.
 * Excluded middle and contradiction do not hold (both are unknown where the field is missing) and are never used.
 */

export type ClauseTest =
  | 'exists'
  | 'in'
  | 'lt'
  | 'lte'
  | 'gt'
  | 'gte'
  | 'prefix'
  | 'suffix'
  | 'contains_any'
  | 'contains_all'
  | 'descends_from';

export interface TestClause {
  readonly kind: 'test';
  readonly field: FilterField;
  readonly test: ClauseTest;
  readonly isNegated: boolean;
  /** Canonical texts, ascending, unique. */
  readonly values: readonly string[];
}

export interface JunctionClause {
  readonly kind: 'and' | 'or';
  readonly clauses: readonly Clause[];
}

export type Clause = TestClause | JunctionClause;

const COMPLEMENT: Partial<Record<ClauseTest, ClauseTest>> = { lt: 'gte', gte: 'lt', lte: 'gt', gt: 'lte' };

function testClause(field: FilterField, test: ClauseTest, values: readonly string[]): TestClause {
  return { kind: 'test', field, test, isNegated: false, values: [...new Set(values)].sort() };
}

/** The clause of an operator that tests one field; its values are canonical texts, as many as it takes. */
export function clauseOf(op: FilterOperator, field: FilterField, texts: readonly string[]): Clause {
  switch (op) {
    case 'eq':
    case 'in':
      return testClause(field, 'in', texts);
    case 'ne':
    case 'not_in':
      return negate(testClause(field, 'in', texts));
    case 'missing':
      return negate(testClause(field, 'exists', []));
    case 'between':
    case 'not_between': {
      const within = join('and', [
        testClause(field, 'gte', [texts[0]]),
        testClause(field, 'lte', [texts[1]]),
      ]);
      return op === 'between' ? within : negate(within);
    }
    case 'contains':
      return testClause(field, 'contains_any', texts);
    case 'and':
    case 'or':
    case 'not':
      throw new Error(`Assertion failed: ${op} combines predicates and has no values.`);
    default:
      return testClause(field, op, texts);
  }
}

/** The clause that is true where this one is false, and unknown where it is unknown. */
export function negate(clause: Clause): Clause {
  if (clause.kind === 'test') {
    const complement = COMPLEMENT[clause.test];
    return complement === undefined
      ? { ...clause, isNegated: !clause.isNegated }
      : { ...clause, test: complement };
  }
  return join(clause.kind === 'and' ? 'or' : 'and', clause.clauses.map(negate));
}

/** And, or: flattened, tests of one field united where that keeps the meaning, sorted, without duplicates. */
export function join(kind: 'and' | 'or', clauses: readonly Clause[]): Clause {
  const united = new Map<string, { readonly like: TestClause; readonly values: string[] }>();
  const byText = new Map<string, Clause>();
  for (const clause of clauses.flatMap((each) => (each.kind === kind ? each.clauses : [each]))) {
    const test = clause.kind === 'test' ? unitingTest(kind, clause) : undefined;
    if (clause.kind !== 'test' || test === undefined) {
      byText.set(canonicalJson(predicateOf(clause)), clause);
      continue;
    }
    const key = canonicalJson([test, clause.isNegated, clause.field.name]);
    const values = united.get(key)?.values ?? [];
    united.set(key, { like: { ...clause, test }, values });
    for (const value of clause.values) values.push(value);
  }
  for (const { like, values } of united.values()) {
    const clause = { ...testClause(like.field, like.test, values), isNegated: like.isNegated };
    byText.set(canonicalJson(predicateOf(clause)), clause);
  }
  const sorted = [...byText].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, clause]) => clause);
  return sorted.length === 1 ? sorted[0] : { kind, clauses: sorted };
}

/** The test under which this clause unites with others of its field by the union of their values, if there is one. */
function unitingTest(kind: 'and' | 'or', clause: TestClause): ClauseTest | undefined {
  // "Any of" spreads over or, "every one of" over and; a negation turns one into the other.
  const isAny = (kind === 'or') !== clause.isNegated;
  if (clause.test === 'in') return isAny ? 'in' : undefined;
  if (clause.test !== 'contains_any' && clause.test !== 'contains_all') return undefined;
  const canonicalOp = isAny ? 'contains_any' : 'contains_all';
  return clause.test === canonicalOp || clause.values.length === 1 ? canonicalOp : undefined;
}

/** The canonical predicate of a clause; reading it again gives the same clause. */
export function predicateOf(clause: Clause): Predicate {
  if (clause.kind !== 'test') return { op: clause.kind, filters: clause.clauses.map(predicateOf) };
  const {
    field: { name: field },
    test,
    values,
    isNegated,
  } = clause;
  const value = values.length === 1 ? values[0] : undefined;
  if (test === 'exists') return { op: isNegated ? 'missing' : 'exists', field };
  if (test === 'in') {
    if (value !== undefined) return { op: isNegated ? 'ne' : 'eq', field, value };
    return { op: isNegated ? 'not_in' : 'in', field, values };
  }
  const predicate = textPredicate(field, test, values);
  return isNegated ? { op: 'not', filter: predicate } : predicate;
}

function textPredicate(
  field: string,
  test: Exclude<ClauseTest, 'exists' | 'in'>,
  values: readonly string[],
): Predicate {
  if (test === 'contains_any' || test === 'contains_all') {
    return values.length === 1 ? { op: 'contains', field, value: values[0] } : { op: test, field, values };
  }
  return { op: test, field, value: values[0] };
}
