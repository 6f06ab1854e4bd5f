import type { Hit } from './hits.js';

/**
 * Returns how surprising a hit is, in six steps: 0 if chance alone explains it, 5 if chance never does. The style sheet
 * has a colour for each step.
 */
export function surprise({ logE }: Pick<Hit, 'logE'>): number {
  if (logE === undefined) return 0;
  const log10 = logE / Math.LN10;
  return [1, -1, -3, -10, -30].filter((bound) => log10 <= bound).length;
}

export const SURPRISES: readonly string[] = [
  'E over 10, or none: no claim',
  'E up to 10: chance explains it',
  'E up to 0.1: possibly related',
  'E up to 0.001: a homolog',
  'E up to 1e-10: a close homolog',
  'E up to 1e-30: certain',
];
