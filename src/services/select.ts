import type { CutOffs, Sort } from '../contract/search/selection.js';
import type { Evidence } from './evidence.js';

/** Selected items in order, and the number of the others. */
export interface Selected<Item> {
  readonly kept: readonly Item[];
  readonly leftOutCount: number;
}

/** The items that pass the cut-offs, in the requested order. Cost  n log n comparisons */
export function selectByEvidence<Item>(
  items: readonly Item[],
  evidenceOf: (item: Item) => Evidence,
  { cutOffs = {}, sort }: { readonly cutOffs?: CutOffs; readonly sort: Sort },
): Selected<Item> {
  const compare = ORDERS[sort];
  const kept = items
    .map((item) => ({ item, evidence: evidenceOf(item) }))
    .filter(({ evidence }) => passesCutOffs(evidence, cutOffs))
    .sort((left, right) => compare(left.evidence, right.evidence))
    .map(({ item }) => item);
  return { kept, leftOutCount: items.length - kept.length };
}

/** An absent value passes no cut-off: a cut-off on E-value or alignment excludes candidates that have none. */
export function passesCutOffs({ logEValue, alignment }: Evidence, asked: CutOffs): boolean {
  const { maximum_expected_false_hits: maximum } = asked;
  return (
    (maximum === undefined || (logEValue ?? Infinity) <= Math.log(maximum)) &&
    isEnough(alignment?.queryCoverageRatio, asked.minimum_query_coverage_ratio) &&
    isEnough(alignment?.targetCoverageRatio, asked.minimum_target_coverage_ratio) &&
    isEnough(alignment?.sequenceIdentityRatio, asked.minimum_sequence_identity_ratio)
  );
}

/** The cut-offs of an object with further members. */
export function pickCutOffs(asked: CutOffs): CutOffs {
  const names = [
    'maximum_expected_false_hits',
    'minimum_query_coverage_ratio',
    'minimum_target_coverage_ratio',
    'minimum_sequence_identity_ratio',
  ] as const;
  return Object.fromEntries(
    names.flatMap((name) => (asked[name] === undefined ? [] : [[name, asked[name]]])),
  );
}

/** Whether the cut-offs need values of an alignment. */
export function needAlignments(asked: CutOffs): boolean {
  const { maximum_expected_false_hits: _, ...ratios } = pickCutOffs(asked);
  return Object.values(ratios).some((least) => least > 0);
}

function isEnough(value: number | undefined, least: number | undefined): boolean {
  return least === undefined || least === 0 || (value !== undefined && value >= least);
}

type Compare = (left: Evidence, right: Evidence) => number;

const byRank: Compare = (left, right) => left.rank - right.rank;
const byScore: Compare = (left, right) => right.rawScore - left.rawScore || byRank(left, right);

function byEValue(left: Evidence, right: Evidence): number {
  const { logEValue: a = Infinity } = left;
  const { logEValue: b = Infinity } = right;
  return a === b ? byScore(left, right) : a - b;
}

const ORDERS: Readonly<Record<Sort, Compare>> = { rank: byRank, evalue: byEValue, score: byScore };
