import { describe, expect, it } from 'vitest';
import { planWindows } from '#src/search/encode-windows.js';

const window = { residues: 100, overlap: 30 };

describe('windows of a long protein', () => {
  it('are not needed where the model sees it all', () => {
    const whole = (length: number) => [{ start: 0, end: length, keptStart: 0, keptEnd: length }];
    expect(planWindows(100, window)).toEqual(whole(100));
    expect(planWindows(50_000, null)).toEqual(whole(50_000));
  });

  it('keep every residue exactly once, in order', () => {
    for (let length = 101; length < 900; length++) {
      const windows = planWindows(length, window);
      let next = 0;
      for (const { keptStart, keptEnd } of windows) {
        expect(keptStart).toBe(next);
        expect(keptEnd).toBeGreaterThan(keptStart);
        next = keptEnd;
      }
      expect(next).toBe(length);
    }
  });

  it('are full, overlap as asked and keep what lies far from their edges', () => {
    for (let length = 101; length < 900; length++) {
      const windows = planWindows(length, window);
      windows.forEach(({ start, end, keptStart, keptEnd }, i) => {
        expect(end - start).toBe(100);
        if (i > 0) expect(windows[i - 1].end - start).toBeGreaterThanOrEqual(30);
        if (i > 0) expect(keptStart - start).toBeGreaterThanOrEqual(15);
        if (i < windows.length - 1) expect(end - keptEnd).toBeGreaterThanOrEqual(15);
      });
      expect(windows[0].start).toBe(0);
      expect(windows.at(-1)?.end).toBe(length);
    }
  });

  it('are as few as the overlap allows', () => {
    expect(planWindows(170, window)).toHaveLength(2);
    expect(planWindows(171, window)).toHaveLength(3);
  });
});
