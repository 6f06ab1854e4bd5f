import type { SearchSettings } from '../../pipelines/search.js';
import { longestListing, policyKindOf, type PolicyCard } from '../../recall/policy-card.js';
import { cutOffsOf } from '../terminal/selection.js';
import {
  CUT_OFF_LIMIT,
  DEFAULT_LIMIT,
  formatIn,
  selectionOf,
  TABLE_LIMIT,
  type SearchFlags,
} from './options.js';
import { warningLine } from '../terminal/warning.js';

/* Length of the list of a search. Apart from options.ts, because the help of a search does not need policy cards. */

/**
 * Nearest candidates of an exhaustive search from which a table chooses by E-value. Homologs with small E-values are
 * not always among the nearest: near proteins of unusual compositions come before them.
 */
const CHOSEN_FROM = 500;

/**
 * Limit of the search. The table shows the best few candidates. Other formats have the default of the HTTP route. With
 * cut-offs, the approximate policy lists as many candidates as it can: a longer list would make the search exhaustive.
 * @param card  of the policy that the database offers; undefined if it offers none
 */
export function limitOf(flags: SearchFlags, card: PolicyCard | undefined): number {
  const shown = tableLimitOf(flags, card);
  if (shown !== undefined) return Math.max(shown, CHOSEN_FROM);
  if (flags.limit !== undefined) return flags.limit;
  const format = formatIn(flags);
  if (format === 'a3m' || isCut(flags)) {
    const isApproximate = flags.guarantee !== 'exhaustive' && card !== undefined;
    return isApproximate ? Math.min(CUT_OFF_LIMIT, longestListing(card)) : CUT_OFF_LIMIT;
  }
  return format === 'table' ? TABLE_LIMIT : DEFAULT_LIMIT;
}

/**
 * Number of candidates that a table of an exhaustive search shows: those with the smallest E-values of the nearest.
 * Undefined if all listed candidates are shown. An approximate policy chooses by E-value itself.
 * @param card  as of `limitOf`
 */
export function tableLimitOf(flags: SearchFlags, card: PolicyCard | undefined): number | undefined {
  const { limit = TABLE_LIMIT, guarantee, significance } = flags;
  const isApproximate = guarantee !== 'exhaustive' && card !== undefined && limit <= longestListing(card);
  if (isApproximate || formatIn(flags) !== 'table' || isCut(flags)) return undefined;
  return selectionOf(flags).sort === 'evalue' && significance !== 'not_requested' ? limit : undefined;
}

function isCut(flags: SearchFlags): boolean {
  return flags.propagation === true || Object.keys(cutOffsOf(flags)).length > 0;
}

/**
 * Warning that a list is longer than those of the approximate policy, with its line break. The search is then
 * exhaustive and takes many times as long. Empty if the policy answers, or if none was wanted.
 */
export function describeLongList(
  { guarantee, limit }: Pick<SearchSettings, 'guarantee' | 'limit'>,
  card: PolicyCard | undefined,
): string {
  if (guarantee === 'exhaustive' || card === undefined) return '';
  const longest = longestListing(card);
  if (limit <= longest) return '';
  return warningLine({
    code: 'limit_exceeds_qualified_policy',
    message:
      `the policy ${policyKindOf(card)} of this database lists at most ${longest} candidates, so lists of ${limit} ` +
      'are searched exhaustively.',
  });
}
