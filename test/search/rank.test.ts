// @module-tag fast

import { describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { rank } from '#src/search/rank.js';
import type { Ranked } from '#src/search/search-types.js';
import type { ReleaseManifest, TargetTable } from '#src/release/release.js';
import type { MaxSimSums } from '#src/kernels/kernels.js';

const seed = Number(process.env.GLOAMING_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
console.log(`rank seed ${seed}`);

describe('rank', () => {
  it('orders by the exact mean of both directions, nearest first', async () => {
    // Similarity Sqt + Lq·Stq/Lt with Lq = 2: 10 + 2·6/3 = 14, 12 + 2·1/1 = 14 and a bit more, 1 + 2·1/4.
    const sums = { queryToTarget: Int32Array.of(10, 13, 1), targetToQuery: Int32Array.of(6, 1, 1) };
    const ranked = await rankOf(sums, undefined, table([3, 1, 4]), 2, 10);
    expect(ranked.map((entry) => entry.targetIndex)).toEqual([1, 0, 2]);
  });

  it('breaks exact ties by target id, for different lengths too', async () => {
    const sums = { queryToTarget: Int32Array.of(5, 5, 5), targetToQuery: Int32Array.of(4, 2, 6) };
    const ranked = await rankOf(sums, undefined, table([2, 1, 3], ['c', 'b', 'a']), 7, 3);
    expect(ranked.map((entry) => entry.targetIndex)).toEqual([2, 1, 0]);
  });

  it('orders fractions that are equal as doubles', async () => {
    // S + 1/65,535 and S + 1/65,534 differ by 2⁻³², and doubles near S are 2⁻²¹ apart.
    const sums = {
      queryToTarget: Int32Array.of(2 ** 31 - 1, 2 ** 31 - 1),
      targetToQuery: Int32Array.of(1, 1),
    };
    const ranked = await rankOf(sums, undefined, table([65_535, 65_534], ['a', 'b']), 1, 2);
    expect(ranked.map((entry) => entry.targetIndex)).toEqual([1, 0]);
  });

  it('names targets by their index in the release if a filter skips some', async () => {
    const sums = { queryToTarget: Int32Array.of(1, 9), targetToQuery: Int32Array.of(1, 9) };
    const ranked = await rankOf(sums, Uint32Array.of(2, 5), table([4, 4, 4, 4, 4, 4]), 4, 1);
    // A sum of 9 over four residues; with an inverse step of 4, cosine 1 is a dot product of 16.
    const distance = 1 - 9 / (16 * 4);
    const maxsim = { bidirectional: distance, queryToTarget: distance, targetToQuery: distance };
    expect(ranked).toEqual([{ rank: 1, targetIndex: 5, queryToTargetSum: 9, targetToQuerySum: 9, maxsim }]);
  });

  it('returns the head of a full exact sort for any limit, with many ties', async () => {
    const random = seededRandom(seed);
    const count = 3_000;
    const lengths = Array.from({ length: count }, () => 1 + random.below(6));
    const sums = {
      queryToTarget: Int32Array.from({ length: count }, () => random.below(12)),
      targetToQuery: Int32Array.from({ length: count }, () => random.below(12)),
    };
    const targets = table(lengths);
    const exact = Array.from({ length: count }, (_, at) => at).sort((a, b) => {
      const left = (sums.queryToTarget[a] * lengths[a] + sums.targetToQuery[a] * 5) * lengths[b];
      const right = (sums.queryToTarget[b] * lengths[b] + sums.targetToQuery[b] * 5) * lengths[a];
      return right - left || (targets.id(a) < targets.id(b) ? -1 : 1);
    });
    for (const limit of [1, 2, 17, 500, 2_999, 3_000, 5_000]) {
      const ranked = await rankOf(sums, undefined, targets, 5, limit);
      expect(
        ranked.map((entry) => entry.targetIndex),
        `limit ${limit}`,
      ).toEqual(exact.slice(0, limit));
    }
  });

  it('finds the best of more targets than one block has', async () => {
    const random = seededRandom(seed);
    const count = 300_000;
    const sums = {
      queryToTarget: Int32Array.from({ length: count }, () => random.below(1_000_000)),
      targetToQuery: Int32Array.from({ length: count }, () => random.below(1_000_000)),
    };
    const targets = table(new Array<number>(count).fill(7));
    const closeness = (at: number): number => sums.queryToTarget[at] * 7 + sums.targetToQuery[at] * 5;
    const exact = Array.from({ length: count }, (_, at) => at).sort(
      (a, b) => closeness(b) - closeness(a) || a - b,
    );
    for (const limit of [1, 900]) {
      const ranked = await rankOf(sums, undefined, targets, 5, limit);
      expect(ranked.map((entry) => entry.targetIndex)).toEqual(exact.slice(0, limit));
    }
  });
});

function rankOf(
  sums: MaxSimSums,
  eligible: Uint32Array | undefined,
  targets: TargetTable,
  queryLength: number,
  limit: number,
): Promise<readonly Ranked[]> {
  const manifest = { encoder: { inverse_step: 4 } } as unknown as ReleaseManifest;
  return rank({ sums, targets: eligible }, queryLength, { targets, manifest }, limit);
}

function table(lengths: readonly number[], ids?: readonly string[]): TargetTable {
  const id = (index: number): string => ids?.[index] ?? `t${String(index).padStart(6, '0')}`;
  return { count: lengths.length, id, length: (index: number) => lengths[index] } as unknown as TargetTable;
}
