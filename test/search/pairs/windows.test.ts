// @module-tag fast

import { describe, expect, it } from 'vitest';
import { windowOf } from '#src/search/pairs/windows.js';

describe('windowOf', () => {
  it('is the whole protein for a stretch that no window holds', () => {
    expect(windowOf({ start: 10, end: 190 }, 200)).toEqual({ start: 0, end: 200, count: 1 });
  });

  it('is the shortest window that holds the stretch, and tells how many there are', () => {
    expect(windowOf({ start: 0, end: 100 }, 200)).toEqual({ start: 0, end: 100, count: 3 });
    expect(windowOf({ start: 345, end: 420 }, 800)).toEqual({ start: 350, end: 450, count: 15 });
    expect(windowOf({ start: 120, end: 195 }, 200)).toEqual({ start: 100, end: 200, count: 3 });
  });

  it('lets a tenth of the stretch lie outside', () => {
    expect(windowOf({ start: 95, end: 195 }, 200)).toEqual({ start: 100, end: 200, count: 3 });
    expect(windowOf({ start: 89, end: 199 }, 200)).toEqual({ start: 100, end: 200, count: 3 });
    expect(windowOf({ start: 85, end: 200 }, 200)).toEqual({ start: 0, end: 200, count: 1 });
  });

  it('has at least 40 residues', () => {
    expect(windowOf({ start: 0, end: 5 }, 79)).toEqual({ start: 0, end: 40, count: 3 });
    expect(windowOf({ start: 0, end: 5 }, 78)).toEqual({ start: 0, end: 78, count: 1 });
    expect(windowOf({ start: 0, end: 5 }, 10_000)).toEqual({ start: 0, end: 1_250, count: 15 });
  });

  it('depends on the protein only: a few windows for all stretches', () => {
    const windows = new Set<string>();
    for (let start = 0; start < 300; start += 5) {
      for (let end = start + 5; end <= 300; end += 5) {
        const { start: from, end: to, count } = windowOf({ start, end }, 300);
        expect(from >= 0 && from < to && to <= 300).toBe(true);
        windows.add(`${from}-${to}-${count}`);
      }
    }
    expect(windows.size).toBeLessThanOrEqual(1 + 3 + 5 + 7 + 11);
  });
});
