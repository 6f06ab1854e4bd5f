import {
  checkedLogProbability,
  judgeTail,
  stratumOf,
  type Bin,
  type Calibration,
  type TailJudgement,
} from '../significance/calibration.js';
import { UNCONTROLLED_FORMAT, type CalibrationCard } from '../significance/card.js';
import { CHANCE_COORDINATE, controlledCoordinate } from '../significance/control.js';
import { familyWiseProbability, qValues } from '../significance/false-discovery.js';
import {
  concentration,
  momentForm,
  pairMoments,
  projectMoments,
  proteinMoments,
  type ProjectedMoments,
} from '../significance/moments.js';
import { tailCoordinate, type NullPair } from '../significance/pair-null.js';
import {
  hubnessContribution,
  hubnessesOf,
  createHubnessTable,
  type ProteinHubness,
} from '../significance/hubness.js';
import { assert, Refusal } from '../errors.js';
import type { KernelOptions, MaxSimSums, QueryTokens } from '../kernels/kernels.js';
import type { Release, TargetSpace } from '../release/release.js';
import { mapInTurns } from '../turns.js';
import type {
  CalibrationIdentity,
  CandidateSignificance,
  SearchedPopulation,
  SupportedSignificance,
  UnsupportedReason,
  UnsupportedSignificance,
} from './candidate-significance.js';
import { controlScores } from './control.js';
import { maxsimDistances } from './maxsim.js';
import type { Scored } from './rescore.js';
import { searchedStrata } from './searched-strata.js';
import type {
  Candidate,
  EncodedQuery,
  SearchEngine,
  SearchRequest,
  SignificanceRequirement,
} from './search-types.js';

/** Judges one query's candidates. */
export type Judge = (
  query: EncodedQuery,
  candidates: readonly Scored[],
  /** MaxSim sums with the calibration's panel; absent without a calibration. */
  referenceSums: MaxSimSums | undefined,
  options: KernelOptions,
) => Promise<readonly Candidate[]>;

/**
 * The judge of one search, made before any work is done, so that it can refuse in time.
 * Errors  Refusal `significance_unavailable` where significance is required and some query cannot have it
 */
export function createJudge(
  { significance: requirement, targetSpace }: Pick<SearchRequest, 'significance' | 'targetSpace'>,
  sequences: readonly string[],
  engine: SearchEngine,
): Judge {
  const { calibration } = engine;
  const lengths = sequences.map(({ length }) => length);
  refuseWithoutSignificance(requirement, lengths, calibration);
  if (requirement === 'not_requested') return async (_, candidates) => withoutJudgement(candidates);
  if (calibration === undefined) return async (_, candidates) => withOne(candidates, NOT_CALIBRATED);
  return async (query, candidates, referenceSums, options) => {
    assert(referenceSums !== undefined, 'a calibrated search measures its panel');
    const control: Control = (targets) => controlScores(query, targets, engine, options);
    const asked = { query: query.tokens, referenceSums, control };
    const judged = await judgeQuery(asked, candidates, targetSpace, { ...engine, calibration });
    return candidates.map((candidate, order) => ({ ...candidate, significance: judged[order] }));
  };
}

/** The candidates as those are whose judgement was not asked for. */
export function withoutJudgement(candidates: readonly Scored[]): readonly Candidate[] {
  return withOne(candidates, NOT_REQUESTED);
}

function withOne(candidates: readonly Scored[], significance: CandidateSignificance): readonly Candidate[] {
  return candidates.map((candidate) => ({ ...candidate, significance }));
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

const NOT_REQUESTED: CandidateSignificance = Object.freeze({ kind: 'not_requested' });
const NOT_CALIBRATED: CandidateSignificance = Object.freeze({
  kind: 'not_available',
  reason: 'no_qualified_calibration',
});
const NO_CALIBRATION =
  'Significance is required, but this release has no qualified calibration. ' +
  'Ask with significance "if_available", or calibrate the release first.';

/** One query and what its candidates are judged by. */
interface Asked {
  readonly query: QueryTokens;
  readonly referenceSums: MaxSimSums;
  readonly control: Control;
}

/** Affine scores of the query read backwards with some targets. */
type Control = (targets: Uint32Array) => Promise<Int32Array>;

async function judgeQuery(
  { query, referenceSums, control }: Asked,
  candidates: readonly Scored[],
  targetSpace: TargetSpace,
  engine: CalibratedEngine,
): Promise<readonly CandidateSignificance[]> {
  const { release, calibration } = engine;
  const moments = proteinMoments(query, momentForm(release.manifest));
  const queryReason =
    unsupportedQuery(query.length, calibration.card) ??
    (concentration(moments) > calibration.card.supported.maximum_concentration
      ? 'query_composition_not_calibrated'
      : undefined);
  const identity = { id: calibration.id, card: calibration.card };
  if (queryReason !== undefined) return candidates.map(() => unsupported(queryReason, identity));
  const { basis, rank } = calibration.moments;
  const projected = projectMoments(moments, basis, rank);
  const hubness = queryHubness(query, projected, referenceSums, engine);
  const judged = { query, projected, hubness };
  const placed = await mapInTurns(candidates, (candidate) => placeCandidate(judged, candidate, engine));
  const controlled = await controlPairs(placed, control, calibration);
  const tails = controlled.map((pair) => (typeof pair === 'string' ? pair : tailOf(pair, calibration)));
  const population = populationOf(query, targetSpace, engine);
  const logs = tails
    .filter((tail) => typeof tail !== 'string')
    .map((tail) => tail.logProbability + population.logCount);
  const ratios = qValues(logs);
  let at = -1;
  return tails.map((tail) => {
    if (typeof tail === 'string') return unsupported(tail, identity);
    at += 1;
    return supported(tail, { logEValue: logs[at], qValue: ratios[at] }, population, identity);
  });
}

function unsupported(reason: UnsupportedReason, calibration: CalibrationIdentity): UnsupportedSignificance {
  return { kind: 'unsupported', reason, calibration };
}

/** Cost  one object of one shape: spreading parts into it would take longer than the rest of the judgement */
function supported(
  { bin, logProbability, support, tangent }: BinnedTail,
  { logEValue, qValue }: { readonly logEValue: number; readonly qValue: number },
  population: SearchedPopulation,
  calibration: CalibrationIdentity,
): SupportedSignificance {
  const checked = checkedLogProbability(bin.card, calibration.card.maximum_log_extrapolation_factor);
  return {
    kind: 'supported',
    calibration,
    population,
    bin: bin.card,
    support,
    logTailProbability: logProbability,
    eValue: Math.exp(logEValue),
    logEValue,
    logEValueMinimum: population.logCount + checked,
    familyWiseProbability: familyWiseProbability(logEValue),
    qValue,
    tangent,
  };
}

interface CalibratedEngine {
  readonly release: Release;
  readonly calibration: Calibration;
}

/** The query as all of its pairs see it. */
interface JudgedQuery {
  readonly query: QueryTokens;
  readonly projected: ProjectedMoments;
  readonly hubness: ProteinHubness;
}

/** One candidate on the tail coordinate, in the bin that judges it. */
interface PlacedPair {
  readonly targetIndex: number;
  readonly bin: Bin;
  readonly pair: NullPair;
  readonly meanClosestCosine: number;
  readonly coordinate: number;
}

/** The tail of one candidate, in the bin that judged it. */
interface BinnedTail extends TailJudgement {
  readonly bin: Bin;
}

/** How much closer the query is to the panel than its length and moments say, and to which of it. */
function queryHubness(
  query: QueryTokens,
  projected: ProjectedMoments,
  referenceSums: MaxSimSums,
  { release, calibration }: CalibratedEngine,
): ProteinHubness {
  const { hubness, pairNull, moments } = calibration;
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const table = createHubnessTable(hubness, {
    referenceSetSize: calibration.referenceSet.length,
    proteinCount: 1,
  });
  calibration.referenceSet.forEach((target, position) => {
    const targetLength = release.targets.length(target);
    const found = {
      queryToTarget: referenceSums.queryToTarget[position],
      targetToQuery: referenceSums.targetToQuery[position],
    };
    const { bidirectional } = maxsimDistances(found, query.length, targetLength, inverseStep);
    const shape = { queryLength: query.length, targetLength, ...pairMoments(projected, moments, target) };
    table.add(0, position, hubnessContribution(hubness, pairNull.shape, shape, 1 - bidirectional));
  });
  return table.of(0);
}

/** Where a candidate lies on the tail coordinate, or the reason why it has no tail. */
function placeCandidate(
  { query, projected, hubness }: JudgedQuery,
  { targetIndex, affine, maxsim }: Scored,
  { release, calibration }: CalibratedEngine,
): PlacedPair | UnsupportedReason {
  const { card, bins, moments, pairNull, hubnesses } = calibration;
  const targetLength = release.targets.length(targetIndex);
  if (targetLength < card.supported.target_minimum_residues) return 'target_too_short';
  if (targetLength > card.supported.target_maximum_residues) return 'target_too_long';
  if (affine.rawScore === 0) return 'no_affine_score';
  const bin = bins[stratumOf(query.length, card.stratum_edges)][stratumOf(targetLength, card.stratum_edges)];
  if (bin.card.status !== 'qualified') return bin.card.status;
  const { meanCosine, cosineSpread, logProfileMean, logProfileSpread, logEffective } = pairMoments(
    projected,
    moments,
    targetIndex,
  );
  const pair = {
    queryLength: query.length,
    targetLength,
    meanCosine,
    cosineSpread,
    logProfileMean,
    logProfileSpread,
    logEffective,
    ...hubnessesOf(hubness, hubnesses(targetIndex)),
  };
  const meanClosestCosine = 1 - maxsim.bidirectional;
  const coordinate = tailCoordinate(pairNull, pair, { affineScore: affine.rawScore, meanClosestCosine });
  return { targetIndex, bin, pair, meanClosestCosine, coordinate };
}

/** The pairs with striking ones after their controls (significance/control.ts). */
async function controlPairs(
  placed: readonly (PlacedPair | UnsupportedReason)[],
  control: Control,
  { card, pairNull }: Calibration,
): Promise<readonly (PlacedPair | UnsupportedReason)[]> {
  if (card.format === UNCONTROLLED_FORMAT) return placed;
  const isHighScoring = (place: PlacedPair | UnsupportedReason): place is PlacedPair =>
    typeof place !== 'string' && place.coordinate > CHANCE_COORDINATE;
  const highScoring = placed.filter(isHighScoring);
  if (highScoring.length === 0) return placed;
  const found = await control(Uint32Array.from(highScoring, ({ targetIndex }) => targetIndex));
  let at = -1;
  return placed.map((place) => {
    if (!isHighScoring(place)) return place;
    at += 1;
    const { pair, meanClosestCosine, coordinate } = place;
    const reached = tailCoordinate(pairNull, pair, { affineScore: found[at], meanClosestCosine });
    return { ...place, coordinate: controlledCoordinate(coordinate, reached) };
  });
}

function tailOf({ bin, coordinate }: PlacedPair, { card }: Calibration): BinnedTail {
  const { logProbability, support, tangent } = judgeTail(
    bin,
    coordinate,
    card.maximum_log_extrapolation_factor,
  );
  return { logProbability, support, tangent, bin };
}

function populationOf(
  query: QueryTokens,
  targetSpace: TargetSpace,
  { release, calibration }: CalibratedEngine,
): SearchedPopulation {
  const bins = calibration.bins[stratumOf(query.length, calibration.card.stratum_edges)];
  const { counts, searchedCount } = searchedStrata(targetSpace, release, calibration);
  let judged = 0;
  let strataCount = 0;
  counts.forEach((count, stratum) => {
    if (count === 0 || bins[stratum].card.status !== 'qualified') return;
    judged += count;
    strataCount += 1;
  });
  return {
    id: targetSpace.id ?? targetSpace.releaseId,
    targetCount: targetSpace.searchedTargetCount,
    residueCount: targetSpace.searchedResidueCount,
    logCount: Math.log(judged),
    strataCount,
    isComplete: judged === searchedCount,
  };
}

function unsupportedQuery(length: number, { supported }: CalibrationCard): UnsupportedReason | undefined {
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
