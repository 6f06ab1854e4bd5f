import {
  judgeTail,
  logProbabilityFloor,
  stratumOf,
  type Bin,
  type Calibration,
  type TailJudgement,
} from '../calibration/calibration.js';
import type { CalibrationCard } from '../calibration/card.js';
import { familyWiseProbability, qValues } from '../calibration/false-discovery.js';
import {
  concentration,
  pairMoments,
  projectMoments,
  tokenMoments,
  type ProjectedMoments,
} from '../calibration/moments.js';
import { tailCoordinate } from '../calibration/pair-null.js';
import { Refusal } from '../errors.js';
import type { QueryTokens } from '../kernels/kernels.js';
import type { Release, TargetSpace } from '../release/release.js';
import { searchedStrata, type SearchedStrata } from './searched-strata.js';
import type {
  Candidate,
  CandidateSignificance,
  SearchEngine,
  SignificanceRequirement,
} from './search-types.js';

/** A candidate before it is judged. */
export type Judged = Pick<Candidate, 'targetIndex' | 'affine' | 'maxsim'>;

/** Judges one query's candidates, in their order. */
export type Judge = (query: QueryTokens, candidates: readonly Judged[]) => readonly CandidateSignificance[];

/**
 * The judge of one search, made before any work is done, so that it can refuse in time.
 * Errors  Refusal `significance_unavailable` where significance is required and some query cannot have it
 */
export function createJudge(
  requirement: SignificanceRequirement,
  queryLengths: readonly number[],
  targetSpace: TargetSpace,
  { release, calibration }: Pick<SearchEngine, 'release' | 'calibration'>,
): Judge {
  refuseWithoutSignificance(requirement, queryLengths, calibration);
  if (requirement === 'not_requested') return (_, candidates) => candidates.map(() => NOT_REQUESTED);
  if (calibration === undefined) return (_, candidates) => candidates.map(() => NOT_CALIBRATED);
  return (query, candidates) => judgeQuery(query, candidates, targetSpace, release, calibration);
}

/** Errors  Refusal `significance_unavailable` where significance is required and some query cannot have it */
export function refuseWithoutSignificance(
  requirement: SignificanceRequirement,
  queryLengths: readonly number[],
  calibration: Calibration | undefined,
): void {
  if (requirement !== 'required') return;
  if (calibration === undefined) throw unavailable('no_qualified_calibration', NO_CALIBRATION);
  for (const length of queryLengths) refuseUnsupported(length, calibration.card);
}

const NOT_REQUESTED: CandidateSignificance = Object.freeze({
  status: 'not_requested',
  reason: 'not_requested',
  measurements: {},
});
const NOT_CALIBRATED: CandidateSignificance = Object.freeze({
  status: 'not_available',
  reason: 'no_qualified_calibration',
  measurements: {},
});
const NO_CALIBRATION =
  'Significance is required, but this release has no qualified calibration. ' +
  'Ask with significance "if_available", or calibrate the release first.';

const STATUS_OF: Readonly<Record<TailJudgement['support'], string>> = {
  below_tail_threshold: 'supported_empirical',
  within_calibration_sample: 'supported_empirical',
  within_extrapolation_limit: 'supported_extrapolated',
  beyond_extrapolation_limit: 'upper_bound',
};

function judgeQuery(
  query: QueryTokens,
  candidates: readonly Judged[],
  targetSpace: TargetSpace,
  release: Release,
  calibration: Calibration,
): readonly CandidateSignificance[] {
  const { dimension, inverse_step: inverseStep } = release.manifest.encoder;
  const moments = tokenMoments(query.values, query.length, dimension, inverseStep);
  const queryReason =
    unsupportedQuery(query.length, calibration.card) ??
    (concentration(moments) > calibration.card.supported.maximum_concentration
      ? 'query_composition_not_calibrated'
      : undefined);
  if (queryReason !== undefined) return candidates.map(() => unsupported(queryReason, calibration));
  const { basis, rank } = calibration.moments;
  const projected = projectMoments(moments, basis, rank);
  const strata = searchedStrata(targetSpace, release, calibration);
  const tails = candidates.map((candidate) =>
    judgeCandidate(query, projected, candidate, release, calibration),
  );
  const queryStratum = stratumOf(query.length, calibration.card.stratum_edges);
  const population = populationOf(strata, calibration.bins[queryStratum]);
  const supported = tails.filter((tail) => typeof tail !== 'string');
  const logs = supported.map((tail) => tail.logProbability + population.logCount);
  const ratios = qValues(logs);
  let at = -1;
  return tails.map((tail) => {
    if (typeof tail === 'string') return unsupported(tail, calibration);
    at += 1;
    return describe(tail, logs[at], ratios[at], population, targetSpace, calibration);
  });
}

interface BinnedTail extends TailJudgement {
  readonly bin: Bin;
  readonly coordinate: number;
}

/** The tail of one candidate, or the reason why there is none. */
function judgeCandidate(
  query: QueryTokens,
  projected: ProjectedMoments,
  { targetIndex, affine, maxsim }: Judged,
  release: Release,
  { card, bins, moments, pairNull }: Calibration,
): BinnedTail | string {
  const targetLength = release.targets.length(targetIndex);
  if (targetLength < card.supported.target_minimum_residues) return 'target_too_short';
  if (targetLength > card.supported.target_maximum_residues) return 'target_too_long';
  if (affine.rawScore === 0) return 'no_affine_score';
  const bin = bins[stratumOf(query.length, card.stratum_edges)][stratumOf(targetLength, card.stratum_edges)];
  if (bin.card.status !== 'qualified') return bin.card.status;
  const pair = { queryLength: query.length, targetLength, ...pairMoments(projected, moments, targetIndex) };
  const score = { affineScore: affine.rawScore, closeness: 1 - maxsim.bidirectional };
  const coordinate = tailCoordinate(pairNull, pair, score);
  return { ...judgeTail(bin, coordinate, card.maximum_log_extrapolation_factor), bin, coordinate };
}

/** The searched targets that can have a tail probability with this query; false hits are expected among them. */
interface Population {
  readonly logCount: number;
  readonly strataCount: number;
  /** False where some searched targets lie outside: a false hit among them has no E-value and is not counted. */
  readonly isComplete: boolean;
}

function populationOf({ counts, searchedCount }: SearchedStrata, bins: readonly Bin[]): Population {
  let judged = 0;
  let strataCount = 0;
  counts.forEach((count, stratum) => {
    if (count === 0 || bins[stratum].card.status !== 'qualified') return;
    judged += count;
    strataCount += 1;
  });
  return { logCount: Math.log(judged), strataCount, isComplete: judged === searchedCount };
}

function describe(
  tail: BinnedTail,
  logExpected: number,
  qValue: number,
  population: Population,
  targetSpace: TargetSpace,
  { id, card }: Calibration,
): CandidateSignificance {
  const { bin, tangent, coordinate, logProbability } = tail;
  const isUpperBound = tail.support === 'beyond_extrapolation_limit';
  const status = STATUS_OF[tail.support];
  return {
    status,
    reason: tail.support,
    measurements: {
      ...identity(id, card),
      calibration_sample_count: bin.card.pair_count,
      is_family_wise_lower_bound: !population.isComplete,
      searched_residue_count: targetSpace.searchedResidueCount,
      searched_sequence_count: targetSpace.searchedTargetCount,
      support_status: status,
      ...(tangent && { bit_score: (tangent.lambda * coordinate - tangent.logK) / Math.LN2 }),
      calibration_bin: bin.card.name,
      e_value_searched_inventory_id: targetSpace.id ?? targetSpace.releaseId,
      e_value_supported_log_maximum: population.logCount,
      e_value_supported_log_minimum:
        population.logCount + logProbabilityFloor(bin.card, card.maximum_log_extrapolation_factor),
      e_value_target_stratum_count: population.strataCount,
      expected_false_hits: Math.exp(logExpected),
      family_wise_exceedance_probability: familyWiseProbability(logExpected),
      is_e_value_upper_bound: isUpperBound,
      log_expected_false_hits: logExpected,
      minimum_resolvable_probability: 1 / bin.card.pair_count,
      pair_tail_log_probability: logProbability,
      pair_tail_probability: Math.exp(logProbability),
      pair_tail_surprisal_bits: -logProbability / Math.LN2,
      q_value: qValue,
      ...(tangent && { tail_model: tailModel(bin, tangent) }),
    },
  };
}

function tailModel({ card }: Bin, tangent: NonNullable<TailJudgement['tangent']>): Record<string, number> {
  return {
    fit_exceedance_count: card.fit_exceedance_count,
    holdout_exceedance_count: card.holdout_exceedance_count,
    holdout_kolmogorov_smirnov: card.holdout_kolmogorov_smirnov,
    holdout_significance_level: card.holdout_significance_level,
    k: Math.exp(tangent.logK),
    lambda: tangent.lambda,
    threshold_score: card.tail.threshold,
  };
}

/** What names the judgement, whatever it is. */
function identity(id: string, card: CalibrationCard): Record<string, unknown> {
  return {
    calibration_id: id,
    e_value_calibration_id: id,
    e_value_conditioning_context_id: card.conditioning_context_id,
    e_value_estimand: card.estimand_id,
    e_value_maximum_log_extrapolation_factor: card.maximum_log_extrapolation_factor,
    e_value_method: card.method_id,
    e_value_null_population_id: card.null_population_id,
    e_value_qualification_id: card.qualification_id,
    e_value_search_policy_id: card.policy_id,
    e_value_tail_coordinate: card.tail_coordinate_id,
  };
}

function unsupported(reason: string, { id, card }: Calibration): CandidateSignificance {
  return {
    status: 'unsupported',
    reason,
    measurements: { ...identity(id, card), support_status: 'unsupported' },
  };
}

function unsupportedQuery(length: number, { supported }: CalibrationCard): string | undefined {
  if (length < supported.query_minimum_residues) return 'query_too_short';
  return length > supported.query_maximum_residues ? 'query_too_long' : undefined;
}

function refuseUnsupported(length: number, card: CalibrationCard): void {
  const reason = unsupportedQuery(length, card);
  if (reason !== undefined) {
    const { query_minimum_residues: minimum, query_maximum_residues: maximum } = card.supported;
    throw unavailable(
      reason,
      `Significance is required, but the query has ${length} residues and the calibration covers ${minimum} to ` +
        `${maximum}. Ask with significance "if_available".`,
    );
  }
  const stratum = stratumOf(length, card.stratum_edges);
  const bins = card.bins.filter((bin) => bin.query_stratum === stratum || bin.target_stratum === stratum);
  if (bins.some(({ status }) => status === 'qualified')) return;
  throw unavailable(
    bins[0].status,
    'Significance is required, but no bin of the calibration is qualified for a query of this length. ' +
      'Ask with significance "if_available".',
  );
}

function unavailable(reason: string, message: string): Refusal {
  return new Refusal('significance_unavailable', message, { param: 'significance', reason });
}
