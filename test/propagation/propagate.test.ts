// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readWalksCard, WALKS_FORMAT, writeWalksCard, type WalksCard } from '#src/propagation/card.js';
import { jointLogEValue } from '#src/significance/joint-evalue.js';
import { walkLogEValue } from '#src/propagation/null.js';
import { propagate } from '#src/propagation/propagate.js';
import { MASS_ONE, type Reached, type WalkHit } from '#src/propagation/walk.js';
import { WALK_PARAMETERS } from '#src/propagation/weights.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-walks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const CARD: WalksCard = {
  format: WALKS_FORMAT,
  release_id: 'dbr_1',
  graph_id: 'graph_1',
  parameters: WALK_PARAMETERS,
  has_homologs: false,
  seed: 1,
  reversed_count: 1_000,
  reached_count: 2_700,
  level: 1.5,
};

describe('the card of walks', () => {
  it('is read as it was written, for the graph that it belongs to', async () => {
    const release = join(folder, 'whole');
    expect(await readWalksCard(release, 'graph_1')).toBeUndefined();
    await writeWalksCard(release, CARD);
    const read = await readWalksCard(release, 'graph_1');
    expect(read?.card).toEqual(CARD);
    expect(read?.id).toMatch(/^walks_[0-9a-f]{64}$/);
    expect(await readWalksCard(release, 'graph_2')).toBeUndefined();
  });

  it.each(['walks/1', 'walks/2', 'walks/3', 'walks/4'])(
    'counts as missing if an earlier version wrote it as %s',
    async (earlier) => {
      const release = join(folder, 'earlier');
      await writeWalksCard(release, CARD);
      const path = join(`${release}.neighbours`, 'walks.json');
      writeFileSync(path, readFileSync(path, 'utf8').replace('walks/5', earlier));
      expect(await readWalksCard(release, 'graph_1')).toBeUndefined();
    },
  );

  it('is refused in one sentence if a number was changed or its format is unknown', async () => {
    const release = join(folder, 'changed');
    await writeWalksCard(release, CARD);
    const path = join(`${release}.neighbours`, 'walks.json');
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace('"seed":1', '"seed":2'));
    await expect(readWalksCard(release, 'graph_1')).rejects.toThrow(`${path} was changed.`);
    writeFileSync(path, text.replace('walks/5', 'walks/9'));
    await expect(readWalksCard(release, 'graph_1')).rejects.toThrow(/this version reads gloaming-walks\/5/);
    writeFileSync(path, 'null');
    await expect(readWalksCard(release, 'graph_1')).rejects.toThrow(/format undefined/);
    writeFileSync(path, '{');
    await expect(readWalksCard(release, 'graph_1')).rejects.toThrow(/is not a card of walks/);
  });
});

describe('the joint E-value', () => {
  const joint = (direct: number | undefined, walk: number | undefined): number =>
    Math.exp(
      jointLogEValue(
        direct === undefined ? undefined : Math.log(direct),
        walk === undefined ? undefined : Math.log(walk),
      ),
    );

  it('is the smaller of that of the walk and ten times the direct one', () => {
    expect(joint(0.01, 3)).toBeCloseTo(0.1, 9);
    expect(joint(1, 3)).toBeCloseTo(3, 9);
    expect(joint(5, undefined)).toBeCloseTo(50, 9);
    expect(joint(undefined, 3)).toBeCloseTo(3, 9);
    expect(joint(undefined, undefined)).toBe(Infinity);
  });
});

describe('propagation', () => {
  const walkNull = { has_homologs: true, level: 1 };
  /** E-value of a mass by the curve of the null. */
  const expected = (share: number): number => Math.exp(walkLogEValue(reached(1, share), 1_000, walkNull));
  const reached = (target: number, share: number, bridge?: number): Reached => {
    return { target, mass: share * MASS_ONE, startMass: MASS_ONE, bridge, weakestLogEValue: -Infinity };
  };

  it('returns the reached targets with an E-value of at most 100, by E-value', () => {
    const walk = (): readonly Reached[] => [
      reached(1, 0.4, 4),
      reached(2, 0.002, 4),
      reached(3, 1),
      reached(5, 0.4, 3),
    ];
    const found = propagate([], { walk, walkNull, targetCount: 1_000 });
    expect(found.map(({ target, bridge }) => [target, bridge])).toEqual([
      [3, undefined],
      [1, 4],
      [5, 3],
    ]);
    expect(found.map(({ logEValue }) => Math.exp(logEValue))).toEqual([
      expect.closeTo(expected(1), 9),
      expect.closeTo(expected(0.4), 9),
      expect.closeTo(expected(0.4), 9),
    ]);
  });

  it('claims no more than the weakest hit on the surest path', () => {
    const eValues = [0.01, 70, 110].map((weakest) => {
      const walk = (): readonly Reached[] => [{ ...reached(1, 0.4, 4), weakestLogEValue: Math.log(weakest) }];
      return propagate([], { walk, walkNull, targetCount: 1_000 }).map(({ logEValue }) =>
        Math.exp(logEValue),
      );
    });
    expect(eValues).toEqual([[expect.closeTo(expected(0.4), 9)], [expect.closeTo(70, 9)], []]);
  });

  it('claims more by a weak hit that each of many homologs of the query may have had', () => {
    const walk = (): readonly Reached[] =>
      [1, 8, 128, 1_000].map((hits, target) => ({
        ...reached(target, 1_000, 4),
        startMass: hits * MASS_ONE,
        weakestLogEValue: Math.log(0.1),
      }));
    const found = propagate([], { walk, walkNull, targetCount: 1_000 });
    expect(found.map(({ target }) => target)).toEqual([0, 1, 2, 3]);
    const claimed = found.map(({ logEValue }) => Math.exp(logEValue));
    expect(claimed).toEqual([0.1, 0.8, 12.8, 12.8].map((eValue) => expect.closeTo(eValue, 9)));
  });

  it('starts from the candidates with an E-value and an alignment only', () => {
    const starts: (readonly WalkHit[])[] = [];
    const walk = (hits: readonly WalkHit[]): readonly Reached[] => {
      starts.push(hits);
      return [];
    };
    const alignment = { targetStart: 3, targetEnd: 80 };
    const candidates = [
      { targetIndex: 7, alignment, significance: { kind: 'supported', logEValue: -3 } },
      { targetIndex: 8, alignment, significance: { kind: 'unsupported' } },
      { targetIndex: 9, significance: { kind: 'supported', logEValue: 4 } },
    ];
    propagate(candidates, { walk, walkNull, targetCount: 1_000 });
    expect(starts).toEqual([[{ target: 7, logEValue: -3, ...alignment }]]);
  });
});
