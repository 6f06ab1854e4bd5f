import { describe, expect, it } from 'vitest';
import { createDomainTally, createRanking, createTally, curatedName } from '#bench/calibration/tally.js';
import type { DomainLabel } from '#bench/tools/labels.js';
import { createTruths } from '#bench/tools/truth.js';
import { seededRandom } from '#src/random.js';

describe('a ranking', () => {
  it('counts true pairs above the last counted false pair, with ties below false pairs', () => {
    const ranking = createRanking(2);
    for (const [score, isTrue] of [
      [9, true],
      [8, false],
      [7, true],
      [6, true],
      [6, false],
      [5, true],
    ] as const) {
      ranking.add(score, isTrue);
    }
    expect(ranking.sensitivity(8)).toBe(2 / 8);
  });

  it('has the sensitivity of a complete list, although it drops pairs', () => {
    const random = seededRandom(4);
    const pairs = Array.from({ length: 500_000 }, () => ({
      score: random.below(100_000),
      isTrue: random.below(3) === 0,
    }));
    const ranking = createRanking(1_000);
    for (const { score, isTrue } of pairs) ranking.add(score, isTrue);
    const sorted = [...pairs].sort((a, b) => b.score - a.score || Number(a.isTrue) - Number(b.isTrue));
    let [right, wrong] = [0, 0];
    for (const { isTrue } of sorted) {
      if (isTrue) right += 1;
      else if ((wrong += 1) === 1_000) break;
    }
    expect(right).toBeGreaterThan(300);
    expect(ranking.sensitivity(170_000)).toBe(right / 170_000);
  });
});

describe('the tally of labelled domains', () => {
  const domain = (family: string): DomainLabel => ({
    family,
    isFamily: true,
    superfamily: family.slice(0, -2),
    foldGroup: family.slice(0, -4),
    structuralClass: family[0],
    isDev: true,
    description: '',
  });
  const truths = createTruths((a, b) => [a.family, b.family].includes('c.1.1.1'));

  it('counts false hits under both truths, in two rows of each stratum', () => {
    const tally = createTally();
    const domains = createDomainTally(tally, truths);
    const query = domain('a.1.1.1');
    domains.expect(['all', 'class a']);
    for (const [family, log] of [
      ['a.1.1.2', -9],
      ['a.1.2.1', -9],
      ['b.1.1.1', Math.log(0.05)],
      ['c.1.1.1', Math.log(0.5)],
      ['c.2.1.1', undefined],
    ] as const) {
      domains.observe(query, domain(family), log, ['all', 'class a']);
    }
    const { all, [curatedName('all')]: curated, 'class a': ofClass } = tally.ratios();
    expect(all).toEqual({ 10: 0.2, 1: 2, 0.1: 10, 0.01: 0, 0.001: 0 });
    expect(curated).toEqual({ 10: 0.1, 1: 1, 0.1: 10, 0.01: 0, 0.001: 0 });
    expect(ofClass).toEqual(all);
    const [head, ...lines] = tally.lines(1_000);
    expect(head.trim().split(/ +/)).toEqual(['10', '1', '0.1', '0.01', '0.001']);
    expect(lines.map((line) => line.trim().split(/ {2}/)[0])).toEqual([
      'all',
      'all, curated',
      'class a',
      'class a, curated',
    ]);
  });

  it('expects a share of a query in both rows', () => {
    const tally = createTally();
    createDomainTally(tally, truths).expect(['quartile'], 0.25);
    createDomainTally(tally, truths).observe(domain('a.1.1.1'), domain('b.1.1.1'), -20, ['quartile']);
    expect(tally.ratios()).toMatchObject({ quartile: { 1: 4 }, 'quartile, curated': { 1: 4 } });
  });
});
