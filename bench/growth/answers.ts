import { readFile } from 'node:fs/promises';
import { assert } from '../../src/errors.js';

const EVIDENT_E = 1e-3;
const BEST_COUNT = 10;
/** Fewer than one unrelated pair of a query is expected up to this E-value. */
const LIKELY_E = 1;

/**
 * Targets of one query with their E-values, smallest first. Infinity for a pair of an uncalibrated length. The query's
 * own protein is left out.
 */
export interface Answer {
  readonly found: readonly { readonly target: string; readonly eValue: number }[];
}

/** Means over the queries that have such targets, and the number of all evident pairs. */
export interface Recall {
  readonly evident: number;
  readonly evident_count: number;
  readonly ten_best: number;
  /** Of those of the ten best that have E ≤ 1. Queries with fewer relatives have chance pairs among their ten best. */
  readonly ten_best_likely: number;
}

/** First column of Gloaming's TSV, whose first line is a header. */
const HEADER_START = 'query_id';
const COLUMNS = [HEADER_START, 'target_id', 'significance.expected_false_hits'];

/**
 * Reads a table of query, target and E-value, or the TSV of Gloaming.
 * Shape   one answer for each of the queries, in their order
 * Errors  assertion if a column is missing, if no pair has an E-value, or if one is no number: recall would be that of
 *         another order
 */
export async function readAnswer(path: string, queryIds: readonly string[]): Promise<readonly Answer[]> {
  return answersOf(await readFile(path, 'utf8'), queryIds);
}

/** As `readAnswer`, of the table's text. */
export function answersOf(table: string, queryIds: readonly string[]): readonly Answer[] {
  const lines = table.split('\n').filter(Boolean);
  const header = lines[0]?.split('\t') ?? [];
  const hasHeader = header[0] === HEADER_START;
  const columns = hasHeader ? COLUMNS.map((name) => header.indexOf(name)) : [0, 1, 2];
  assert(!columns.includes(-1), `the table has the columns ${COLUMNS.join(', ')}`);
  const [query, target, e] = columns;
  let isJudged = lines.length <= (hasHeader ? 1 : 0);
  const found = new Map(queryIds.map((id) => [id, new Map<string, number>()]));
  for (const line of hasHeader ? lines.slice(1) : lines) {
    const cells = line.split('\t');
    const eValue = hasHeader && cells[e] === '' ? Infinity : Number(cells[e]);
    assert(cells[e] !== '' || hasHeader, 'a program gives each pair an E-value');
    assert(eValue >= 0, `${cells[e]} is an E-value`);
    isJudged ||= Number.isFinite(eValue);
    const ofQuery = found.get(cells[query]);
    // A program may write several alignments of a pair.
    if (cells[query] !== cells[target])
      ofQuery?.set(cells[target], Math.min(eValue, ofQuery.get(cells[target]) ?? Infinity));
  }
  assert(isJudged, 'the table has E-values');
  return queryIds.map((id) => ({
    found: [...(found.get(id) ?? [])]
      .map(([target, eValue]) => ({ target, eValue }))
      .sort((a, b) => a.eValue - b.eValue || (a.target < b.target ? -1 : 1)),
  }));
}

/**
 * Recall of the truth's targets that have an E-value.
 * Shape  both have one answer for each query
 * Range  0..1; 1 if nothing is wanted
 */
export function recallOf(truth: readonly Answer[], answers: readonly Answer[]): Recall {
  const evident: number[] = [];
  const best: number[] = [];
  const likely: number[] = [];
  let evidentCount = 0;
  truth.forEach((exact, query) => {
    const found = exact.found.filter(({ eValue }) => Number.isFinite(eValue));
    const listed = new Set(answers[query].found.map(({ target }) => target));
    const shareOf = (wanted: Answer['found']): number =>
      wanted.filter(({ target }) => listed.has(target)).length / wanted.length;
    const pairs = found.filter(({ eValue }) => eValue <= EVIDENT_E);
    evidentCount += pairs.length;
    if (pairs.length > 0) evident.push(shareOf(pairs));
    const ten = found.slice(0, BEST_COUNT);
    const likelyTen = ten.filter(({ eValue }) => eValue <= LIKELY_E);
    if (ten.length > 0) best.push(shareOf(ten));
    if (likelyTen.length > 0) likely.push(shareOf(likelyTen));
  });
  return {
    evident: meanOf(evident),
    evident_count: evidentCount,
    ten_best: meanOf(best),
    ten_best_likely: meanOf(likely),
  };
}

function meanOf(shares: readonly number[]): number {
  return shares.length === 0 ? 1 : shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
