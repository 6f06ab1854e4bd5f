import type { Hit } from './hits.js';

/**
 * How surprising a hit is, as one of six steps: 0 for what chance alone explains, 5 for what it never does. The style
 * sheet has a colour for each.
 */
export function surprise({ logE }: Pick<Hit, 'logE'>): number {
  if (logE === undefined) return 0;
  const log10 = logE / Math.LN10;
  return [1, -1, -3, -10, -30].filter((bound) => log10 <= bound).length;
}

export const SURPRISES: readonly string[] = [
  'E over 10, or none: nothing is claimed',
  'E up to 10: chance explains it',
  'E up to 0.1: worth a look',
  'E up to 0.001: a relative',
  'E up to 1e-10: a close relative',
  'E up to 1e-30: certain',
];
