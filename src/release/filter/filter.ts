import { canonicalSha256 } from '../../canonical.js';
import { assert, Refusal } from '../../errors.js';
import {
  FILTER_MAX_CLAUSES,
  FILTER_MAX_DEPTH,
  FILTER_MAX_REPORTED_FAULTS,
  FILTER_MAX_SUBSTRINGS,
  FILTER_MAX_VALUES,
  FILTER_VALUE_MAX_CHARACTERS,
} from '../../limits.js';
import type { Place } from '../../places.js';
import { type Clause, predicateOf } from './clause.js';
import { HOMOLOGY_OPERATORS, type OperatorShape, type Predicate } from './operators.js';
import { type FilterBounds, readPredicate } from './read.js';
import type { FilterField } from '../release.js';

/** A filter in its canonical form: filters that the documented rewrites turn into each other have one. */
export interface CanonicalFilter {
  /** Itself a valid predicate, which compiles to itself. */
  readonly predicate: Predicate;
  /** SHA-256 of the canonical JSON of the predicate. */
  readonly sha256: string;
}

export interface FilterOptions {
  /** Where the filter stands in the request, for the faults: `['body', 'filter']`. */
  readonly place: Place;
  /** Default: the 21 shapes of the homology route. */
  readonly operators?: readonly OperatorShape[];
  /** Whether the predicate is already canonical and checked, as in requests of a coordinator. Default false. */
  readonly isCanonical?: boolean;
}

const REQUEST_BOUNDS: FilterBounds = {
  depth: FILTER_MAX_DEPTH,
  clauses: FILTER_MAX_CLAUSES,
  values: FILTER_MAX_VALUES,
  substrings: FILTER_MAX_SUBSTRINGS,
  valueCharacters: FILTER_VALUE_MAX_CHARACTERS,
  faults: FILTER_MAX_REPORTED_FAULTS,
};

/** A canonical form can be a little longer and deeper than what was sent. */
const CANONICAL_BOUNDS: FilterBounds = {
  ...REQUEST_BOUNDS,
  depth: 2 * FILTER_MAX_DEPTH,
  clauses: 2 * FILTER_MAX_CLAUSES,
  values: 2 * FILTER_MAX_VALUES,
};

/** No bounds, for stored filters: they were within the bounds when they were created. */
const NO_BOUNDS: FilterBounds = {
  depth: Infinity,
  clauses: Infinity,
  values: Infinity,
  substrings: Infinity,
  valueCharacters: Infinity,
  faults: FILTER_MAX_REPORTED_FAULTS,
};

/**
 * Checks a predicate against the fields of a release and returns it in canonical form.
 * Errors  Refusal `invalid_filter` with all faults: unknown field or operator; operator or value that does not fit the
 *         field's type; superfluous or missing members; limits of limits.ts
 * Source  strong Kleene logic (Kleene 1952, § 64); the rewrites are listed in filter-clause.ts
 */
export function compileFilter(
  predicate: unknown,
  fields: readonly FilterField[],
  { place, operators = HOMOLOGY_OPERATORS, isCanonical = false }: FilterOptions,
): CanonicalFilter {
  const { clause, faults } = readPredicate(predicate, place, {
    fields,
    operators,
    bounds: isCanonical ? CANONICAL_BOUNDS : REQUEST_BOUNDS,
  });
  if (clause === undefined) {
    const [first, ...others] = faults;
    const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
    throw new Refusal(
      'invalid_filter',
      `The filter is not valid: ${first!.location}: ${first!.message}${more}`,
      {
        errors: faults,
      },
    );
  }
  const canonical = predicateOf(clause);
  return Object.freeze({ predicate: canonical, sha256: canonicalSha256(canonical) });
}

/** The clause of a predicate that compileFilter made for the same fields. */
export function canonicalClause(predicate: unknown, fields: readonly FilterField[]): Clause {
  const rules = { fields, operators: HOMOLOGY_OPERATORS, bounds: NO_BOUNDS };
  const { clause, faults } = readPredicate(predicate, ['canonical filter'], rules);
  assert(
    clause !== undefined,
    `a canonical filter is valid for the release that it was made for (${faults[0]?.message})`,
  );
  return clause;
}
