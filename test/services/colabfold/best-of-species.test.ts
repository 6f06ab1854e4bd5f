// @module-tag fast

import { expect, it } from 'vitest';
import type { HomologyCandidate } from '#src/contract/search/candidate-set.js';
import { bestOfSpecies } from '#src/services/colabfold/alignments.js';

const QUERY = 'MKVLAAGIVG';
const RULES = { maxEvalue: 1, minCoverage: 0.5, maxSequences: 100 };

/** A candidate that aligns as a whole. */
function candidate(
  id: string,
  rank: number,
  taxid: number,
  logEValue: number | undefined,
): HomologyCandidate {
  return {
    rank,
    target: { id, sequence: QUERY, attributes: { taxid } },
    measurements: { affine: { raw_score: 50, normalized_score: 0.5 } },
    alignment: {
      cigar: '10=',
      query_start: 0,
      query_end: 10,
      query_length: 10,
      target_start: 0,
      target_end: 10,
      target_length: 10,
      identical_residue_count: 10,
      aligned_residue_count: 10,
      gap_residue_count: 0,
      query_coverage_ratio: 1,
      target_coverage_ratio: 1,
      sequence_identity_ratio: 1,
    },
    significance: {
      measurements:
        logEValue === undefined
          ? {}
          : { expected_false_hits: Math.exp(logEValue), log_expected_false_hits: logEValue },
    },
  } as unknown as HomologyCandidate;
}

async function speciesOf(candidates: readonly HomologyCandidate[], maxEvalue: number | null) {
  async function* pages() {
    yield candidates.slice(0, 2);
    yield candidates.slice(2);
  }
  const chain = { sequence: QUERY, candidates: pages() };
  const best = await bestOfSpecies(chain, { ...RULES, maxEvalue }, new AbortController().signal);
  return [...best].map(([taxid, { rank, record }]) => [taxid, rank, record.slice(1, record.indexOf('\t'))]);
}

it('the protein of a species with the smallest E-value is paired, and species have its order', async () => {
  const candidates = [
    candidate('NEAR', 1, 562, -5),
    candidate('OTHER', 2, 83333, -7),
    candidate('SURE', 3, 562, -9),
    candidate('WEAK', 4, 83333, 1),
  ];
  expect(await speciesOf(candidates, 1)).toEqual([
    [562, 1, 'SURE'],
    [83333, 2, 'OTHER'],
  ]);
});

it('without E-values, the nearest protein of a species is paired', async () => {
  const candidates = [
    candidate('NEAR', 1, 83333, undefined),
    candidate('FAR', 2, 83333, undefined),
    candidate('OTHER', 3, 562, undefined),
  ];
  expect(await speciesOf(candidates, null)).toEqual([
    [83333, 1, 'NEAR'],
    [562, 2, 'OTHER'],
  ]);
});
