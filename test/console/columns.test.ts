// @module-tag fast

import { describe, expect, it } from 'vitest';
import { firstOrder } from '../../src/console/result/columns.js';

describe('the order of a table at first', () => {
  it('is by E-value, or without E-values by distance', () => {
    const evalue = { column: 'evalue', isDescending: false };
    const rank = { column: 'rank', isDescending: false };
    const score = { column: 'score', isDescending: true };
    expect(firstOrder(undefined, [{ logE: undefined }, { logE: -3 }])).toEqual(evalue);
    expect(firstOrder(undefined, [{ logE: undefined }])).toEqual(rank);
    expect(firstOrder('evalue', [{ logE: undefined }])).toEqual(score);
    expect(firstOrder('rank', [{ logE: -3 }])).toEqual(rank);
    expect(firstOrder('score', [{ logE: -3 }])).toEqual(score);
  });
});
