// @module-tag fast

import { describe, expect, it } from 'vitest';
import type { CalibrationCard } from '#src/significance/card.js';
import { SignificanceMeasurements, SignificanceReason } from '#src/contract/search/significance.js';
import type {
  CandidateSignificance,
  SupportedSignificance,
} from '#src/search/pairs/candidate-significance.js';
import { presentSignificance } from '#src/services/search/present-significance.js';

const bin = {
  name: 'short × long',
  pair_count: 1_000,
  fit_exceedance_count: 90,
  holdout_exceedance_count: 40,
  holdout_kolmogorov_smirnov: 0.1,
  holdout_significance_level: 0.6,
  tail: { threshold: 2 },
} as unknown as CalibrationCard['bins'][number];
const card = {
  conditioning_context_id: 'conditions',
  estimand_id: 'estimand',
  maximum_log_extrapolation_factor: 3,
  method_id: 'method',
  null_population_id: 'population',
  policy_id: 'policy',
  qualification_id: 'qualification',
  tail_coordinate_id: 'coordinate',
} as unknown as CalibrationCard;
const calibration = { id: 'calib_1', card };
const supported: SupportedSignificance = {
  kind: 'supported',
  calibration,
  population: {
    id: 'htsp_1',
    targetCount: 8,
    residueCount: 800,
    count: 7,
    logCount: Math.log(7),
    strataCount: 2,
    isComplete: false,
  },
  bin,
  support: 'within_extrapolation_limit',
  logTailProbability: -4 * Math.LN2,
  // The release has half as many hits by chance as the reference.
  bitScore: 3,
  eValue: 7 / 16,
  logEValue: Math.log(7 / 16),
  logEValueMinimum: -8,
  familyWiseProbability: 0.35,
  qValue: 0.5,
  homologyProbability: 0.4,
  tangent: { lambda: 0.7, logK: Math.log(5) },
};

describe('significance in its contract form', () => {
  it('has every measurement of the contract where the tail model supports them', () => {
    const { status, reason, measurements } = presentSignificance(supported);
    expect([status, reason]).toEqual(['supported_extrapolated', 'within_extrapolation_limit']);
    expect(Object.keys(measurements).sort()).toEqual(Object.keys(SignificanceMeasurements.properties).sort());
    expect(measurements).toMatchObject({
      bit_score: 3,
      calibration_bin: 'short × long',
      calibration_id: 'calib_1',
      e_value_searched_inventory_id: 'htsp_1',
      expected_false_hits: 7 / 16,
      is_e_value_upper_bound: false,
      is_family_wise_lower_bound: true,
      minimum_resolvable_probability: 0.001,
      pair_tail_surprisal_bits: 4,
      support_status: 'supported_extrapolated',
      tail_model: { lambda: 0.7, threshold_score: 2, holdout_exceedance_count: 40 },
    });
    expect(measurements.pair_tail_probability).toBeCloseTo(1 / 16, 15);
    expect(measurements.tail_model!.k).toBeCloseTo(5, 12);
  });

  it('has bits but no tail model below its threshold, and marks no value as a bound', () => {
    const below = {
      ...supported,
      support: 'below_tail_threshold',
      tangent: undefined,
    } as const;
    const presented = presentSignificance({ ...below, logTailProbability: 0, bitScore: 0 });
    expect(presented.status).toBe('supported_empirical');
    expect(presented.measurements).not.toHaveProperty('tail_model');
    expect(presented.measurements.bit_score).toBe(0);
    const far = presentSignificance({ ...supported, support: 'beyond_extrapolation_limit' });
    expect(far.status).toBe('supported_extrapolated');
    expect(far.measurements.is_e_value_upper_bound).toBe(false);
  });

  it('without a tail probability names the reason, and has numbers only with a calibration', () => {
    const without: readonly CandidateSignificance[] = [
      { kind: 'unsupported', reason: 'query_too_long', calibration },
      { kind: 'not_available', reason: 'no_qualified_calibration' },
      { kind: 'not_requested' },
    ];
    const presented = without.map(presentSignificance);
    expect(presented.map(({ status }) => status)).toEqual(without.map(({ kind }) => kind));
    for (const { reason } of presented) expect(SignificanceReason.enum).toContain(reason);
    expect(presented.map(({ measurements }) => measurements.calibration_id)).toEqual([
      'calib_1',
      undefined,
      undefined,
    ]);
    for (const { measurements } of presented) expect(measurements).not.toHaveProperty('expected_false_hits');
  });
});
