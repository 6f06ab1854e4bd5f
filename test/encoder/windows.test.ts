import { describe, expect, it } from 'vitest';
import { planWindows } from '#src/encoder/windows.js';

const window = { residues: 100, overlap: 33 };

describe('windows of a long protein', () => {
  it('are not needed if the model accepts the whole protein', () => {
    const whole = (end: number) => [{ start: 0, end, keptStart: 0, keptEnd: end, fadeIn: 0, fadeOut: 0 }];
    expect(planWindows(100, window)).toEqual(whole(100));
    expect(planWindows(50_000, null)).toEqual(whole(50_000));
  });

  it('keep every residue once, and twice where two windows fade into each other', () => {
    for (let length = 101; length < 900; length++) {
      const uses = new Uint8Array(length);
      const fades = new Uint8Array(length);
      for (const { keptStart, keptEnd, fadeIn, fadeOut } of planWindows(length, window)) {
        uses.subarray(keptStart, keptEnd).forEach((count, i, window) => (window[i] = count + 1));
        expect(keptEnd - keptStart).toBeGreaterThanOrEqual(fadeIn + fadeOut);
        fades.subarray(keptStart, keptStart + fadeIn).fill(1);
        fades.subarray(keptEnd - fadeOut, keptEnd).fill(1);
      }
      expect(uses.every((count, i) => count === 1 + fades[i])).toBe(true);
    }
  });

  it('are full, share at least the overlap and fade in its middle half', () => {
    for (let length = 101; length < 900; length++) {
      const windows = planWindows(length, window);
      windows.forEach(({ start, end, keptStart, keptEnd }, i) => {
        expect(end - start).toBe(100);
        if (i > 0) expect(keptStart - start).toBeGreaterThanOrEqual(8);
        if (i < windows.length - 1) expect(end - keptEnd).toBeGreaterThanOrEqual(8);
        if (i > 0) expect(windows[i - 1].end - start).toBeGreaterThanOrEqual(33);
        if (i > 0) expect(windows[i - 1].keptEnd - keptStart).toBe(16);
      });
      expect(windows[0].start).toBe(0);
      expect(windows.at(-1)?.end).toBe(length);
    }
  });

  it('are as few as the overlap allows', () => {
    expect(planWindows(167, window)).toHaveLength(2);
    expect(planWindows(168, window)).toHaveLength(3);
  });
});
