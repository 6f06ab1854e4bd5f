import { describe, expect, it } from 'vitest';
import { fitStrata, independentCountOf } from '#src/fit-significance/bins.js';
import type { NullFit } from '#src/fit-significance/null.js';
import { ROLE_FIT, ROLE_HOLDOUT, type NullSample } from '#src/fit-significance/sample.js';
import { EXCEEDANCE_SHARE } from '#src/fit-significance/tail.js';
import { seededRandom } from '#src/random.js';

const pair = (first: number, second: number) => ({ score: 1, first, second });

describe('the number of independent exceedances', () => {
  it('is all of them if no two share a protein', () => {
    expect(independentCountOf(Array.from({ length: 50 }, (_, at) => pair(2 * at, 2 * at + 1)))).toBe(50);
  });

  it('is small for any number of them if all share one protein', () => {
    expect(independentCountOf(Array.from({ length: 1_000 }, (_, at) => pair(0, at + 1)))).toBe(4);
  });

  it('is the number of proteins if each has an equal share', () => {
    const everyPair = Array.from({ length: 20 }, (_, first) =>
      Array.from({ length: first }, (_unused, second) => pair(second, first)),
    ).flat();
    expect(independentCountOf(everyPair)).toBe(20);
  });

  it('is 0 without exceedances', () => {
    expect(independentCountOf([])).toBe(0);
  });
});

describe('length strata', () => {
  const PROTEINS = 500;
  const SHORT = 60;
  const isShort = (protein: number): boolean => protein % 2 === 0;
  const isHeldOut = (protein: number): boolean => protein % 8 === 0 || protein % 8 === 3;

  /** Exponential coordinates; `strange` shifts the exceedances of held-out pairs. */
  function fittedWith(strange: (excess: number, first: number, second: number) => number) {
    const random = seededRandom(11);
    const threshold = -Math.log(EXCEEDANCE_SHARE);
    const [firsts, seconds, coordinates]: number[][] = [[], [], []];
    for (let second = 1; second < PROTEINS; second += 1) {
      for (let first = 0; first < second; first += 1) {
        const coordinate = -Math.log(1 - random.share());
        const excess = coordinate - threshold;
        const isMoved = isHeldOut(first) && isHeldOut(second) && excess > 0;
        firsts!.push(first);
        seconds!.push(second);
        coordinates!.push(isMoved ? threshold + strange(excess, first, second) : coordinate);
      }
    }
    const proteins = Array.from({ length: PROTEINS }, (_, protein) => protein);
    const sample = {
      pairCount: firsts!.length,
      hasProfiles: false,
      lengths: Uint32Array.from(proteins, (protein) => (isShort(protein) ? SHORT : 300) + (protein % 7)),
      roles: Uint8Array.from(proteins, (protein) => (isHeldOut(protein) ? ROLE_HOLDOUT : ROLE_FIT)),
      firsts: Uint16Array.from(firsts!),
      seconds: Uint16Array.from(seconds!),
    } as NullSample;
    const fit = {
      coordinates: Float64Array.from(coordinates!),
      isConnected: () => false,
    } as unknown as NullFit;
    return fitStrata(sample, fit, []);
  }

  it('are as many as the sample supports', () => {
    const { edges, bins } = fittedWith((excess) => excess);
    expect(edges).toEqual([300]);
    expect(bins.map(({ status }) => status)).toEqual(['qualified', 'qualified', 'qualified']);
  });

  it('are fewer if a bin of small strata does not qualify, so that all pairs have E-values', () => {
    const { edges, bins } = fittedWith((excess, first, second) =>
      isShort(first) && isShort(second) && first % 16 === 0 ? 1.5 + excess / 6 : excess,
    );
    expect(edges).toEqual([]);
    expect(bins.map(({ status }) => status)).toEqual(['qualified']);
  });

  it('stay as many if fewer do not qualify either', () => {
    const { edges, bins } = fittedWith((excess, first) => (isShort(first) ? 1.5 + excess / 6 : excess));
    expect(edges).toEqual([300]);
    expect(bins.map(({ status }) => status)).toContain('bin_not_qualified');
  });
});
