import { atOnce, type Steps } from '../../turns.js';
import type { Clause, TestClause } from './clause.js';
import { attributeColumnSteps } from './columns.js';
import { partFinder } from './parts.js';
import { compareValues, valueOf } from './values.js';
import type { AttributeValue, Release } from '../release.js';

/**
 * Three-valued outcome for each target, one bit per target in each set; unknown where neither bit is set.
 * In this pair `and` is (∩, ∪), `or` is (∪, ∩) and `not` swaps the two.
 */
interface Outcome {
  readonly isTrue: Uint32Array;
  readonly isFalse: Uint32Array;
}

/* Bits of one outcome. */
const UNKNOWN = 0;
const IS_FALSE = 1;
const IS_TRUE = 2;

/** Values that are tested, and words of 32 targets that are combined, between two steps. */
const VALUES_PER_STEP = 16;
const WORDS_PER_STEP = 256;

/** Parts of a release that a filter reads. */
export type FilteredRelease = Pick<Release, 'targets' | 'lineage'>;

/**
 * Ascending indices of the targets for which the clause is true.
 * Cost    per test, one call for each distinct value of its field and one table look-up for each target; a call for
 *         each target where the field has too many values to be coded
 */
export function eligibleTargets(clause: Clause, release: FilteredRelease): Uint32Array {
  return atOnce(eligibleTargetSteps(clause, release));
}

/** eligibleTargets for callers that take turns. */
export function* eligibleTargetSteps(clause: Clause, release: FilteredRelease): Steps<Uint32Array> {
  const { isTrue } = yield* evaluate(clause, release);
  let count = 0;
  for (const [index, word] of isTrue.entries()) {
    if (index % WORDS_PER_STEP === 0) yield;
    count += countBits(word);
  }
  const eligible = new Uint32Array(count);
  let next = 0;
  for (const [index, word] of isTrue.entries()) {
    if (index % WORDS_PER_STEP === 0) yield;
    for (let rest = word; rest !== 0; rest &= rest - 1)
      eligible[next++] = index * 32 + 31 - Math.clz32(rest & -rest);
  }
  return eligible;
}

function* evaluate(clause: Clause, release: FilteredRelease): Steps<Outcome> {
  if (clause.kind === 'test') return yield* evaluateTest(clause, release);
  const [first, ...others] = clause.clauses;
  const outcome = yield* evaluate(first!, release);
  const [narrowed, widened] =
    clause.kind === 'and' ? (['isTrue', 'isFalse'] as const) : (['isFalse', 'isTrue'] as const);
  for (const other of others) {
    const next = yield* evaluate(other, release);
    for (let word = 0; word < outcome.isTrue.length; word += 1) {
      if (word % WORDS_PER_STEP === 0) yield;
      outcome[narrowed][word] &= next[narrowed][word];
      outcome[widened][word] |= next[widened][word];
    }
  }
  return outcome;
}

function* evaluateTest(clause: TestClause, release: FilteredRelease): Steps<Outcome> {
  const { codes, outcomes } = yield* codedOutcomes(clause, release);
  const words = Math.ceil(codes.length / 32);
  const isTrue = new Uint32Array(words);
  const isFalse = new Uint32Array(words);
  for (let word = 0; word < words; word += 1) {
    if (word % WORDS_PER_STEP === 0) yield;
    const start = word * 32;
    const bits = Math.min(32, codes.length - start);
    let trueBits = 0;
    let falseBits = 0;
    for (let bit = 0; bit < bits; bit += 1) {
      const outcome = outcomes[codes[start + bit]];
      trueBits |= (outcome >> 1) << bit;
      falseBits |= (outcome & 1) << bit;
    }
    isTrue[word] = trueBits;
    isFalse[word] = falseBits;
  }
  return { isTrue, isFalse };
}

interface CodedOutcomes {
  /** By target. */
  readonly codes: Uint32Array;
  /** By code. */
  readonly outcomes: Uint8Array;
}

function* codedOutcomes(clause: TestClause, { targets, lineage }: FilteredRelease): Steps<CodedOutcomes> {
  const outcomeOf = valueOutcomes(clause, lineage);
  const { name } = clause.field;
  const column = yield* attributeColumnSteps(targets, name);
  if (column !== undefined) {
    const outcomes = new Uint8Array(1 + column.values.length);
    outcomes[0] = outcomeOf(undefined);
    for (const [index, value] of column.values.entries()) {
      if (index % VALUES_PER_STEP === 0) yield;
      outcomes[1 + index] = outcomeOf(value);
    }
    return { codes: column.codes, outcomes };
  }
  const byTarget = new Uint32Array(targets.count);
  for (let target = 0; target < targets.count; target += 1) {
    if (target % VALUES_PER_STEP === 0) yield;
    byTarget[target] = outcomeOf(targets.attribute(target, name));
  }
  return { codes: byTarget, outcomes: Uint8Array.of(UNKNOWN, IS_FALSE, IS_TRUE) };
}

/** Outcome of the test for a value; undefined is a missing one. */
function valueOutcomes(
  clause: TestClause,
  lineage: Release['lineage'],
): (value: AttributeValue | undefined) => number {
  const [whenTrue, whenFalse] = clause.isNegated ? [IS_FALSE, IS_TRUE] : [IS_TRUE, IS_FALSE];
  if (clause.test === 'exists') return (value) => (value === undefined ? whenFalse : whenTrue);
  const test = valueTest(clause, lineage);
  return (value) => {
    const isTrue = value === undefined ? undefined : test(value);
    return isTrue === undefined ? UNKNOWN : isTrue ? whenTrue : whenFalse;
  };
}

/** The test of one present value; undefined is unknown. */
function valueTest(
  { test, field, values: texts }: TestClause,
  lineage: Release['lineage'],
): (value: AttributeValue) => boolean | undefined {
  const values = texts.map((text) => valueOf(text, field.type));
  const first = values[0];
  switch (test) {
    case 'in': {
      const accepted = new Set<AttributeValue>(values);
      return (value) => accepted.has(value);
    }
    case 'lt':
      return (value) => compareValues(value, first) < 0;
    case 'lte':
      return (value) => compareValues(value, first) <= 0;
    case 'gt':
      return (value) => compareValues(value, first) > 0;
    case 'gte':
      return (value) => compareValues(value, first) >= 0;
    case 'prefix':
      return (value) => (value as string).startsWith(texts[0]);
    case 'suffix':
      return (value) => (value as string).endsWith(texts[0]);
    case 'contains_any': {
      if (field.type === 'string') return partFinder(texts) as (value: AttributeValue) => boolean;
      const accepted = new Set(texts);
      return (value) => (value as readonly string[]).some((element) => accepted.has(element));
    }
    case 'contains_all':
      return (value) => texts.every((text) => (value as string | readonly string[]).includes(text));
    case 'descends_from':
      return (value) => descendsFrom(value as number, first as number, lineage);
    case 'exists':
      throw new Error('Assertion failed: existence does not depend on the value.');
  }
}

function descendsFrom(taxid: number, ancestor: number, lineageOf: Release['lineage']): boolean | undefined {
  if (taxid === ancestor) return true;
  const lineage = lineageOf(taxid);
  return lineage.length === 0 ? undefined : lineage.includes(ancestor);
}

function countBits(word: number): number {
  let pairs = word - ((word >>> 1) & 0x55555555);
  pairs = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((pairs + (pairs >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
