// @module-tag fast

import { describe, expect, it } from 'vitest';
import {
  areOfOneChain,
  evidenceText,
  inBothDirections,
  judgePairs,
  ratesOf,
  type Evidence,
} from '#bench/related-folds/evidence.js';
import { parseScores } from '#bench/related-folds/hhsuite.js';
import type { TestedPair } from '#bench/related-folds/suspects.js';

const RULE = { leastProbability: 90, largestE: 1e-3 };
const PAIR: TestedPair = { query: 'a.1.1', target: 'b.1.1', origin: 'superfamilies' };
const superfamilyOf = (id: string): string => (id.startsWith('d1') ? 'a.1.1' : 'b.1.1');

describe('the evidence for related folds', () => {
  it('is read from the scores of hhsearch, with and without a family column', () => {
    const text = [
      'NAME  d1aaaa_ text',
      '',
      'TARGET    REL LEN COL LOG-PVA  S-AASS PROBAB  SCORE  LOG-EVAL',
      'd2bbba_   4     88  61   23.50   55.10  97.31   60.20     11.12',
      'd2ccca_   c.1 4   90  10    1.50    5.10   0.31    6.20     -9.12',
      '',
    ].join('\n');
    expect(parseScores('d1aaaa_', text)).toEqual([
      { query: 'd1aaaa_', target: 'd2bbba_', bits: 23.5, probability: 97.31, columns: 61 },
      { query: 'd1aaaa_', target: 'd2ccca_', bits: 1.5, probability: 0.31, columns: 10 },
    ]);
  });

  it('has the weaker scores of both directions, and none for a pair that one search lacks', () => {
    const forward = [
      { query: 'd1aaaa_', target: 'd2bbba_', bits: 20, probability: 95, columns: 60 },
      { query: 'd1aaaa_', target: 'd2ccca_', bits: 30, probability: 99, columns: 60 },
    ];
    const backward = [{ query: 'd2bbba_', target: 'd1aaaa_', bits: 22, probability: 91, columns: 58 }];
    expect(inBothDirections(forward, backward, 1_024)).toEqual([
      { query: 'd1aaaa_', target: 'd2bbba_', eValue: 2 ** -10, probability: 91, columns: 58 },
    ]);
  });

  it('confirms a pair of superfamilies by its best pair of domains', () => {
    const [judged] = judgePairs([PAIR], [evidence(1e-4), evidence(1e-6, 'd2bbba_')], superfamilyOf, RULE);
    expect(judged.evidence.map(({ eValue }) => eValue)).toEqual([1e-6, 1e-4]);
    expect(evidenceText(judged)).toBe(
      'hhsearch d1aaaa_ d2bbba_: E 1.0e-6, 95 %, 60 columns; 2 pairs of domains',
    );
  });

  it('does not confirm by one limit alone, nor by two domains of one chain', () => {
    const weak = [
      evidence(2e-3),
      { ...evidence(1e-5), probability: 89 },
      { ...evidence(1e-9), query: 'd1aaaa1', target: 'd1aaaa2' },
    ];
    const ofOne = (id: string): string => (id === 'd1aaaa2' ? 'b.1.1' : superfamilyOf(id));
    expect(judgePairs([PAIR], weak, ofOne, RULE)[0].evidence).toEqual([]);
    expect(areOfOneChain('d1aaaa1', 'd1aaab1')).toBe(false);
  });

  it('has the false rate of the control pairs, of two classes apart', () => {
    const control: TestedPair = { ...PAIR, origin: 'control of superfamilies' };
    const judged = [
      { pair: PAIR, evidence: [evidence(1e-6)] },
      { pair: control, evidence: [] },
      { pair: { ...control, target: 'a.2.1' }, evidence: [evidence(1e-6)] },
    ];
    expect(ratesOf(judged)).toMatchObject({
      superfamilies: { tested: 1, confirmed: 1 },
      'control of superfamilies': { tested: 2, confirmed: 1 },
      'control of superfamilies, two classes': { tested: 1, confirmed: 0 },
    });
  });
});

function evidence(eValue: number, target = 'd2ccca_'): Evidence {
  return { query: 'd1aaaa_', target, eValue, probability: 95, columns: 60 };
}
