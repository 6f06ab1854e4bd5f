import { describe, expect, it } from 'vitest';
import { profiledTail, fitPooled, type BinCoordinates } from '#src/fit-significance/tail.js';
import { seededRandom } from '#src/random.js';

const SEED = 20261121;

/** Ascending exponential coordinates with this rate, from 0. */
function coordinates(count: number, rate: number, seed: number): Float64Array {
  const random = seededRandom(seed);
  const draw = (): number => -Math.log((random.next() + 1) / 2 ** 32) / rate;
  return Float64Array.from({ length: count }, draw).sort();
}

function mixed(...parts: readonly Float64Array[]): Float64Array {
  return Float64Array.from(parts.flatMap((part) => [...part])).sort();
}

const none = new Float64Array(0);
/** Unrelated pairs of one bin, with homologs among the exceedances. */
const contaminated = mixed(coordinates(150_000, 1, SEED), coordinates(1_800, 0.25, SEED + 1));
const oneBin = (bin: BinCoordinates): number => fitPooled([bin]).tail!.lambda;

describe(`the pooled tail of a small sample (seed ${SEED})`, () => {
  it('falls at a rate between that of pairs, which include homologs, and that of decoys', () => {
    const cautious = oneBin({ pairs: contaminated, decoys: none });
    const between = oneBin({ pairs: contaminated, decoys: coordinates(300_000, 1.1, SEED + 2) });
    expect(cautious).toBeLessThan(0.93);
    expect(between).toBeGreaterThan(0.95);
    expect(between).toBeLessThan(1.03);
  });

  it('is that of the pairs if decoys fall more slowly, or have few exceedances', () => {
    const cautious = oneBin({ pairs: contaminated, decoys: none });
    expect(oneBin({ pairs: contaminated, decoys: coordinates(300_000, 0.5, SEED + 3) })).toBe(cautious);
    expect(oneBin({ pairs: contaminated, decoys: coordinates(300, 1.1, SEED + 4) })).toBe(cautious);
  });

  it('is fitted to pairs of two strata, which have few homologs', () => {
    const like = { pairs: contaminated, decoys: none };
    const unlike = { pairs: coordinates(150_000, 1, SEED + 5), decoys: none };
    const below = { pairs: none, decoys: none };
    const { tail } = fitPooled([like, unlike, below, like]);
    expect(tail!.lambda).toBeGreaterThan(0.96);
    expect(tail!.lambda).toBeLessThan(1.04);
  });

  it('is undefined if scores do not vary', () => {
    const pairs = new Float64Array(10_000).fill(1);
    expect(fitPooled([{ pairs, decoys: none }]).tail).toBeUndefined();
  });
});

describe(`the pooled tail of a large sample (seed ${SEED})`, () => {
  it('is the mixture, without decoys', () => {
    const pairs = mixed(coordinates(1_500_000, 1, SEED + 6), coordinates(18_000, 0.25, SEED + 7));
    const { tail } = fitPooled([{ pairs, decoys: coordinates(300_000, 1.3, SEED + 8) }]);
    expect(tail!.homologShare).toBeGreaterThan(0.05);
    expect(tail!.lambda).toBeGreaterThan(0.95);
    expect(tail!.lambda).toBeLessThan(1.05);
  });
});

describe('the tail of a release with profiles', () => {
  const tail = { lambda: 1, shape: 0.01, homologShare: 0, homologLambda: 0.25 };

  it('is heavier, and not reduced if the mixture has no homologs', () => {
    const corrected = profiledTail({ tail, ceiling: 11 });
    expect(corrected.tail!.shape).toBe(0.06);
    expect(corrected.tailShare).toBe(1);
    expect(profiledTail({ tail: { ...tail, shape: 0.2 }, ceiling: 11 }).tail!.shape).toBe(0.2);
  });

  it('falls with the share of homologs, to .45 of itself at the least', () => {
    const shares = [0.01, 0.05, 0.12, 0.4].map(
      (homologShare) => profiledTail({ tail: { ...tail, homologShare }, ceiling: 11 }).tailShare!,
    );
    expect(shares[0]).toBeCloseTo(0.953, 3);
    expect(shares[1]).toBeCloseTo(0.765, 3);
    expect(shares.slice(2)).toEqual([0.45, 0.45]);
  });

  it('is undefined if the sample has no tail', () => {
    expect(profiledTail({ tail: undefined, ceiling: 0 })).toEqual({ tail: undefined, ceiling: 0 });
  });
});
