import { FILTER_DICTIONARY_MAX_VALUES } from '../../limits.js';
import { atOnce, type Steps } from '../../turns.js';
import type { AttributeValue, TargetTable } from '../release.js';

/** Targets that are read between two steps: some tens of microseconds. */
const TARGETS_PER_STEP = 64;

/** One attribute of all targets, by code: 0 where it is missing, else its value is `values[code − 1]`. */
export interface AttributeColumn {
  readonly codes: Uint32Array;
  readonly values: readonly AttributeValue[];
}

/** Releases are immutable and so are their columns: each is made once and lives as long as its table. */
const columnsOf = new WeakMap<TargetTable, Map<string, AttributeColumn | undefined>>();

/**
 * Returns the column of one field with a code for each distinct value, so that a test runs once per value and not per
 * target. Returns undefined if nearly all values are distinct, because codes would then save nothing.
 * Cost    one pass over the targets at the first call; 4 bytes of memory per target
 */
export function attributeColumn(targets: TargetTable, field: string): AttributeColumn | undefined {
  return atOnce(attributeColumnSteps(targets, field));
}

/** attributeColumn for callers that take turns. */
export function* attributeColumnSteps(
  targets: TargetTable,
  field: string,
): Steps<AttributeColumn | undefined> {
  let columns = columnsOf.get(targets);
  if (columns === undefined) columnsOf.set(targets, (columns = new Map()));
  if (!columns.has(field)) columns.set(field, yield* codeColumn(targets, field));
  return columns.get(field);
}

function* codeColumn(targets: TargetTable, field: string): Steps<AttributeColumn | undefined> {
  const codes = new Uint32Array(targets.count);
  const values: AttributeValue[] = [];
  const codeOf = new Map<AttributeValue, number>();
  for (let target = 0; target < targets.count; target += 1) {
    if (target % TARGETS_PER_STEP === 0) yield;
    const value = targets.attribute(target, field);
    if (value === undefined) continue;
    const key = typeof value === 'object' ? JSON.stringify(value) : value;
    let code = codeOf.get(key);
    if (code === undefined) {
      if (values.length === FILTER_DICTIONARY_MAX_VALUES) return undefined;
      code = values.push(value);
      codeOf.set(key, code);
    }
    codes[target] = code;
  }
  return { codes, values };
}
