import { isExactDecimal } from '../../decimals.js';
import type { AttributeType, AttributeValue } from '../release.js';

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** The canonical text of a filter's value, or what was expected instead of it. */
export type ReadValue = { readonly text: string } | { readonly expected: string };

/**
 * Reads a filter's value by the type of its field and returns its canonical text, which equal values share. A number is
 * the shortest decimal of its binary64 value: `1.0`, `1e0` and `+1` become `1`, and `-0` becomes `0`.
 * Range   integers within ±(2⁵³ − 1), decimals that binary64 tells from every other one; no value is rounded
 */
export function readValue(text: string, type: AttributeType): ReadValue {
  switch (type) {
    case 'boolean':
      return text === 'true' || text === 'false' ? { text } : { expected: '"true" or "false"' };
    case 'integer':
    case 'number':
      return readNumber(text, type);
    case 'string':
    case 'string_list':
      return LONE_SURROGATE.test(text) ? { expected: 'Unicode text without lone surrogates' } : { text };
  }
}

function readNumber(text: string, type: 'integer' | 'number'): ReadValue {
  const value = DECIMAL.test(text) ? Number(text) : Number.NaN;
  if (type === 'integer') {
    if (!Number.isSafeInteger(value))
      return { expected: 'an integer in decimal notation, at most 2^53 - 1 in size' };
  } else if (!Number.isFinite(value)) {
    return { expected: 'a number in decimal notation' };
  }
  if (!isExactDecimal(text)) {
    const nearest = `the nearest is ${String(value)}`;
    return {
      expected: `a number that binary64 holds, as each of at most 15 significant digits is (${nearest})`,
    };
  }
  return { text: String(value === 0 ? 0 : value) };
}

/** The value that a canonical text stands for, as a target's attribute holds it. */
export function valueOf(text: string, type: AttributeType): string | number | boolean {
  if (type === 'integer' || type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true';
  return text;
}

/**
 * Order of two values of one type, as a negative, zero or positive number: numbers by size, text by code point.
 * JavaScript's own `<` orders text by UTF-16 unit, which puts U+10000 before U+E000.
 */
export function compareValues(left: AttributeValue, right: AttributeValue): number {
  if (typeof left !== 'string' || typeof right !== 'string') return Number(left) - Number(right);
  const shared = Math.min(left.length, right.length);
  for (let index = 0; index < shared; index += 1) {
    const leftUnit = left.charCodeAt(index);
    const rightUnit = right.charCodeAt(index);
    if (leftUnit !== rightUnit) return codePointRank(leftUnit) - codePointRank(rightUnit);
  }
  return left.length - right.length;
}

/** Surrogates stand for code points above all others: they change places with U+E000–U+FFFF. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** The name that was probably meant: the nearest by edit distance, if near enough. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const substitution = row[j - 1] + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[right.length];
}
