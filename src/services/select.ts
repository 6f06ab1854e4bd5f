import type { CutOffs, Sort } from '../contract/search/selection.js';
import type { PresentedPropagation } from '../contract/search/propagation.js';
import type { Evidence } from './evidence.js';

/** Selected items in order, and the number of the others. */
export interface Selected<Item> {
  readonly selected: readonly Item[];
  readonly leftOutCount: number;
}

/** The items that pass the cut-offs, in the requested order. Cost  n log n comparisons */
export function selectByEvidence<Item>(
  items: readonly Item[],
  evidenceOf: (item: Item) => Evidence,
  { cutOffs = {}, sort }: { readonly cutOffs?: CutOffs; readonly sort: Sort },
): Selected<Item> {
  const compare = ORDERS[sort];
  const selected = items
    .map((item) => ({ item, evidence: evidenceOf(item) }))
    .filter(({ evidence }) => passesCutOffs(evidence, cutOffs))
    .sort((left, right) => compare(left.evidence, right.evidence))
    .map(({ item }) => item);
  return { selected, leftOutCount: items.length - selected.length };
}

/** An absent value passes no cut-off: a cut-off on E-value or alignment excludes candidates that have none. */
export function passesCutOffs({ logEValue, alignment }: Evidence, cutOffs: CutOffs): boolean {
  const { maximum_expected_false_hits: maximum } = cutOffs;
  return (
    (maximum === undefined || (logEValue ?? Infinity) <= Math.log(maximum)) &&
    isEnough(alignment?.queryCoverageRatio, cutOffs.minimum_query_coverage_ratio) &&
    isEnough(alignment?.targetCoverageRatio, cutOffs.minimum_target_coverage_ratio) &&
    isEnough(alignment?.sequenceIdentityRatio, cutOffs.minimum_sequence_identity_ratio)
  );
}

/** The cut-offs of an object with further members. */
export function pickCutOffs(cutOffs: CutOffs): CutOffs {
  const names = [
    'maximum_expected_false_hits',
    'minimum_query_coverage_ratio',
    'minimum_target_coverage_ratio',
    'minimum_sequence_identity_ratio',
  ] as const;
  return Object.fromEntries(
    names.flatMap((name) => (cutOffs[name] === undefined ? [] : [[name, cutOffs[name]]])),
  );
}

/** Whether the cut-offs need values of an alignment. */
export function needAlignments(cutOffs: CutOffs): boolean {
  const { maximum_expected_false_hits: _, ...ratios } = pickCutOffs(cutOffs);
  return Object.values(ratios).some((least) => least > 0);
}

/**
 * Returns the propagated hits that pass the cut-offs: by their own E-values, and candidates only if a cut-off needs the
 * alignment with the query, which others do not have.
 */
export function propagationWithinCutOffs(
  propagation: PresentedPropagation,
  cutOffs: CutOffs,
): PresentedPropagation {
  const { maximum_expected_false_hits: largest = Infinity } = cutOffs;
  const needsAlignment = needAlignments(cutOffs);
  const hits = propagation.hits.filter(
    ({ expected_false_hits: expected, is_candidate: isCandidate }) =>
      expected <= largest && (isCandidate || !needsAlignment),
  );
  return { ...propagation, hits };
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
