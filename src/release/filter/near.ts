import { atOnce, type Steps } from '../../turns.js';
import type { AttributeValue, FilterField, Release } from '../release.js';
import { attributeColumnSteps } from './columns.js';
import { eligibleTargetSteps } from './evaluate.js';
import { canonicalClause } from './filter.js';
import type { Predicate } from './operators.js';
import { nearestName } from './values.js';

const HINTS_MAX_COUNT = 4;
const NEAR_MAX_COUNT = 3;
/** Letters are compared where that takes some milliseconds. */
const COMPARED_MAX_COUNT = 5_000;
const COMPARED_MAX_CHARACTERS = 64;
/** Values that are read between two steps. */
const VALUES_PER_STEP = 64;

/**
 * Explains a filter that no target passes. Each of its tests has a hint: the number of targets that pass this test
 * alone or, if that is 0, existing values.
 * @param predicate in its canonical form; undefined if all targets pass
 */
export function explainEmptySelection(predicate: unknown, release: Release): readonly string[] {
  return atOnce(emptySelectionSteps(predicate, release));
}

/** explainEmptySelection for callers that take turns. */
export function* emptySelectionSteps(predicate: unknown, release: Release): Steps<readonly string[]> {
  if (predicate === undefined) return [];
  const hints: string[] = [];
  for (const test of testsOf(predicate as Predicate)) {
    if (hints.length === HINTS_MAX_COUNT) break;
    const count = yield* countOf(test, release);
    const hint = count > 0 ? `${textOf(test)} alone has ${formatted(count)}` : yield* nearHint(test, release);
    if (hint !== undefined) hints.push(hint);
  }
  return hints;
}

type Test = Exclude<Predicate, { op: 'and' | 'or' | 'not' }>;

function* testsOf(predicate: Predicate): Generator<Test> {
  if ('filters' in predicate) for (const filter of predicate.filters) yield* testsOf(filter);
  else if ('filter' in predicate) yield* testsOf(predicate.filter);
  else yield predicate;
}

function* countOf(predicate: Predicate, release: Release): Steps<number> {
  const eligible = yield* eligibleTargetSteps(canonicalClause(predicate, release.fields), release);
  return eligible.length;
}

function* nearHint(test: Test, release: Release): Steps<string | undefined> {
  const field = release.fields.find(({ name }) => name === test.field);
  if (field === undefined) return undefined;
  const [wantedValue] = valuesOf(test);
  if (wantedValue === undefined) return `no protein has ${field.name}`;
  if (field.isTaxonomy === true && test.op !== 'descends_from') {
    const under = yield* countOf({ op: 'descends_from', field: field.name, value: wantedValue }, release);
    if (under > 0)
      return (
        `${field.name} ${wantedValue} itself has none; ` +
        `\`${field.name} under ${wantedValue}\` has ${formatted(under)}`
      );
  }
  const column = yield* attributeColumnSteps(release.targets, field.name);
  if (column === undefined) return undefined;
  const counts = new Uint32Array(column.values.length);
  for (const [target, code] of column.codes.entries()) {
    if (target % VALUES_PER_STEP === 0) yield;
    if (code > 0) counts[code - 1] += 1;
  }
  const values = column.values.map((value, code) => ({ value, count: counts[code] }));
  return field.type === 'string' || field.type === 'string_list'
    ? yield* nearTexts(test, wantedValue, field, values)
    : rangeOf(test, field, values);
}

interface Counted {
  readonly value: AttributeValue;
  readonly count: number;
}

/** Returns texts that contain the wanted text or are contained in it; otherwise the text with the fewest edits. */
function* nearTexts(
  test: Test,
  wantedText: string,
  field: FilterField,
  values: readonly Counted[],
): Steps<string> {
  const counts = new Map<string, number>();
  for (const [index, { value, count }] of values.entries()) {
    if (index % VALUES_PER_STEP === 0) yield;
    for (const text of typeof value === 'object' ? value : [String(value)])
      counts.set(text, (counts.get(text) ?? 0) + count);
  }
  const lower = wantedText.toLowerCase();
  const holding: string[] = [];
  for (const [index, text] of [...counts.keys()].entries()) {
    if (index % VALUES_PER_STEP === 0) yield;
    const other = text.toLowerCase();
    if (other !== '' && (other.includes(lower) || lower.includes(other))) holding.push(text);
  }
  const isComparable = counts.size <= COMPARED_MAX_COUNT && wantedText.length <= COMPARED_MAX_CHARACTERS;
  const nearest = isComparable ? nearestName(wantedText, counts.keys()) : undefined;
  const near = holding.length > 0 ? holding : nearest === undefined ? [] : [nearest];
  const best = near
    .toSorted((left, right) => (counts.get(right) ?? 0) - (counts.get(left) ?? 0))
    .slice(0, NEAR_MAX_COUNT)
    .map((text) => `${JSON.stringify(text)} (${formatted(counts.get(text) ?? 0)})`);
  const none = `${textOf(test)} has none`;
  if (best.length > 0) return `${none}; near: ${best.join(', ')}`;
  return `${none}; "gloaming index fields" lists the values of ${field.name}`;
}

function rangeOf(test: Test, field: FilterField, values: readonly Counted[]): string | undefined {
  const numbers = values.map(({ value }) => Number(value)).filter((value) => !Number.isNaN(value));
  if (field.type === 'boolean' || field.isTaxonomy === true || numbers.length === 0) {
    return `${textOf(test)} has none`;
  }
  const least = numbers.reduce((left, right) => Math.min(left, right));
  const most = numbers.reduce((left, right) => Math.max(left, right));
  return `${textOf(test)} has none; ${field.name} is ${least} to ${most} here`;
}

function valuesOf(test: Test): readonly string[] {
  if ('value' in test) return [test.value];
  return 'values' in test ? test.values : [];
}

/** A test in few words. */
function textOf(test: Test): string {
  const values = valuesOf(test);
  const shown = values.slice(0, NEAR_MAX_COUNT).map((value) => JSON.stringify(value.slice(0, 64)));
  const more = values.length > shown.length ? ', …' : '';
  const signs: Readonly<Record<string, string>> = {
    eq: '=',
    ne: '!=',
    lt: '<',
    lte: '<=',
    gt: '>',
    gte: '>=',
    descends_from: 'under',
  };
  return [test.field, signs[test.op] ?? test.op, `${shown.join(', ')}${more}`].join(' ').trimEnd();
}

function formatted(count: number): string {
  return count.toLocaleString('en-US');
}
