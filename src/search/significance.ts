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
import { compositionOf } from '../significance/composition.js';
import { familyWiseProbability, qValues } from '../significance/false-discovery.js';
import { momentForm, pairMoments, proteinMoments } from '../significance/moments.js';
import { targetClassBias, targetMomentSum } from '../significance/moment-weights.js';
import { homologyProbability } from '../significance/probability.js';
import {
  controlCoordinate,
  tailCoordinate,
  type NullPair,
  type PairScore,
} from '../significance/pair-null.js';
import { nullPairOf } from '../significance/null-pair.js';
import { assert } from '../errors.js';
import type { KernelOptions, MaxSimSums } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { mapInTurns } from '../turns.js';
import {
  eValueAmong,
  type CandidateSignificance,
  type JudgeAlignment,
  type SearchedPopulation,
  type UnsupportedReason,
} from './pairs/candidate-significance.js';
import { controlScores, type ControlScores } from './control.js';
import { profileScores } from './pairs/profile-scores.js';
import { repeatShareFor } from './pairs/repeats.js';
import { covariatesOf, type ProteinCovariates } from './covariates.js';
import { refuseWithoutSignificance, unsupportedMoments, unsupportedQuery } from './refusals.js';
import { ofSize, populationOf } from './searched-strata.js';
import type {
  Candidate,
  EncodedQuery,
  Scored,
  SearchEngine,
  SearchRequest,
  SearchSettings,
} from './search-types.js';

/** Judges the candidates of one query. @param referenceSums  sums with the reference set; absent if uncalibrated */
export type Judge = (
  query: EncodedQuery,
  candidates: readonly Scored[],
  referenceSums: MaxSimSums | undefined,
  options: KernelOptions,
) => Promise<Judged>;

export interface Judged {
  readonly candidates: readonly Candidate[];
  readonly judgeAlignment: JudgeAlignment;
}

/** Value of `usedMaxEValue` with which no pair gets a control: no E-value is below 0. */
export const NO_CONTROLS = -1;

const judgeNone: JudgeAlignment = () => undefined;

/** Targets whose false hits an E-value counts: those of the space, or as many as the request names. */
type Population = Pick<SearchRequest, 'targetSpace' | 'databaseSize' | 'probability'>;
type JudgedRequest = Population & Pick<SearchSettings, 'significance' | 'usedMaxEValue'>;

/**
 * Creates the judge of one search. It is created before any work is done, so that it can refuse early.
 * Errors  Refusal `significance_unavailable` if significance is required and a query cannot have it
 */
export function createJudge(
  { significance: requirement, usedMaxEValue: maxEValue = Infinity, ...population }: JudgedRequest,
  sequences: readonly string[],
  engine: SearchEngine,
): Judge {
  const { calibration } = engine;
  const lengths = sequences.map(({ length }) => length);
  refuseWithoutSignificance(requirement, lengths, calibration);
  const withoutEValues = (judged: readonly Candidate[]): Judged => ({
    candidates: judged,
    judgeAlignment: judgeNone,
  });
  if (requirement === 'not_requested') {
    return async (_, candidates) => withoutEValues(withoutJudgement(candidates));
  }
  if (calibration === undefined) {
    return async (_, candidates) => withoutEValues(withOne(candidates, NOT_CALIBRATED));
  }
  return async (query, candidates, referenceSums, options) => {
    assert(referenceSums !== undefined, 'a calibrated search measures its reference set');
    const { judgements, judgeAlignment } = await judgeQuery(
      query,
      candidates,
      referenceSums,
      { ...population, maxEValue },
      engine,
      calibration,
      options,
    );
    const judged = candidates.map((candidate, order) => ({ ...candidate, significance: judgements[order] }));
    return { candidates: judged, judgeAlignment };
  };
}

/** Marks the candidates as not judged because significance was not requested. */
export function withoutJudgement(candidates: readonly Scored[]): readonly Candidate[] {
  return withOne(candidates, NOT_REQUESTED);
}

function withOne(candidates: readonly Scored[], significance: CandidateSignificance): readonly Candidate[] {
  return candidates.map((candidate) => ({ ...candidate, significance }));
}

const NOT_REQUESTED: CandidateSignificance = Object.freeze({ kind: 'not_requested' });
const NOT_CALIBRATED: CandidateSignificance = Object.freeze({
  kind: 'not_available',
  reason: 'no_qualified_calibration',
});
/** One candidate on the tail coordinate, in the bin that judges it. */
interface Place {
  readonly targetIndex: number;
  readonly bin: Bin;
  readonly pair: NullPair;
  readonly score: PairScore;
  readonly coordinate: number;
  /** Scores of the reversed query; present if the pair scores high. */
  readonly control?: PairScore;
}

/**
 * Judges the candidates of one query. The query gives moments and hubness. Each candidate gets a tail coordinate. The
 * reversed-query control lowers it if the E-value without control is at most `maxEValue`. The tail turns coordinates
 * into probabilities. Probability × searched targets is the E-value, and the E-values of all candidates give q-values.
 * A given database size takes the place of the searched targets in the E-values. It does not change q-values, which are
 * about the candidates of this search.
 */
async function judgeQuery(
  query: EncodedQuery,
  candidates: readonly Scored[],
  referenceSums: MaxSimSums,
  { targetSpace, databaseSize, probability, maxEValue }: Population & { readonly maxEValue: number },
  engine: SearchEngine,
  calibration: Calibration,
  options: KernelOptions,
): Promise<{
  readonly judgements: readonly CandidateSignificance[];
  readonly judgeAlignment: JudgeAlignment;
}> {
  const { release } = engine;
  const { card, logLevel } = calibration;
  const { tokens } = query;
  const { moments = proteinMoments(tokens, momentForm(release.manifest)) } = query;
  const queryReason = unsupportedQuery(tokens.length, card) ?? unsupportedMoments(moments, card);
  if (queryReason !== undefined) {
    return {
      judgements: candidates.map(() => unsupported(queryReason, calibration)),
      judgeAlignment: judgeNone,
    };
  }
  const repeatShare = await repeatShareFor(tokens, engine, calibration, options);
  const own = covariatesOf(query.sequence, moments, referenceSums, repeatShare, release, calibration);
  const ofProfiles = await profileScoresOf(query, candidates, engine, calibration, options);
  const places = await mapInTurns(candidates, (candidate, at) =>
    placeCandidate(candidate, ofProfiles[at], own, release, calibration),
  );
  const searched = populationOf(tokens.length, targetSpace, release, calibration);
  const population = databaseSize === undefined ? searched : ofSize(searched, databaseSize);
  const isUsed = (place: Place): boolean =>
    maxEValue === Infinity ||
    eValueAmong(population, levelled(tailOf(place, card), logLevel) + population.logCount) <= maxEValue;
  const controlled = await withControls(places, calibration, {
    isUsed,
    controlsOf: (targets) =>
      controlScores(query, targets, engine, options, calibration.pairNull.scores.profileScore > 0),
  });
  const table = (probability ?? 'not_requested') === 'not_requested' ? undefined : engine.probability;
  return {
    judgements: judgementsOf(controlled, { searched, population, table }, calibration),
    judgeAlignment: alignmentJudge(controlled, calibration, population),
  };
}

function tailOf({ bin, coordinate }: Place, card: Calibration['card']): TailJudgement {
  return judgeTail(bin, coordinate, card.maximum_log_extrapolation_factor);
}

/** ln of the tail probability with the level of the release. */
function levelled({ logProbability }: TailJudgement, logLevel: number): number {
  return Math.min(0, logProbability + logLevel);
}

function unsupported(reason: UnsupportedReason, { id, card }: Calibration): CandidateSignificance {
  return { kind: 'unsupported', reason, calibration: { id, card } };
}

/** Targets that the E-values of one query count, and its table of probabilities. */
interface Counted {
  /** Those of the search, which q-values and probabilities count. */
  readonly searched: SearchedPopulation;
  readonly population: SearchedPopulation;
  readonly table: SearchEngine['probability'];
}

/** Turns the places of all candidates of a query into judgements, in their order. */
function judgementsOf(
  places: readonly (Place | UnsupportedReason)[],
  { searched, population, table }: Counted,
  calibration: Calibration,
): readonly CandidateSignificance[] {
  const { id, card, logLevel } = calibration;
  const factor = card.maximum_log_extrapolation_factor;
  const identity = { id, card };
  const tails = places.map((place) => (typeof place === 'string' ? undefined : tailOf(place, card)));
  const logProbabilities = tails.flatMap((tail) => (tail ? [levelled(tail, logLevel)] : []));
  const searchedCount = Math.exp(searched.logCount);
  const qValuesInOrder = qValues(logProbabilities.map((log) => log + searched.logCount));
  let judged = -1;
  return places.map((place, order): CandidateSignificance => {
    const tail = tails[order];
    if (typeof place === 'string' || tail === undefined) {
      return unsupported(place as UnsupportedReason, calibration);
    }
    judged += 1;
    const logEValue = logProbabilities[judged] + population.logCount;
    // One literal: spreading parts into the object takes longer than the rest of the judgement.
    return {
      kind: 'supported',
      calibration: identity,
      population,
      bin: place.bin.card,
      support: tail.support,
      logTailProbability: logProbabilities[judged],
      bitScore: 0 - tail.logProbability / Math.LN2,
      eValue: eValueAmong(population, logEValue),
      logEValue,
      logEValueMinimum: population.logCount + logLevel + checkedLogProbability(place.bin.card, factor),
      familyWiseProbability: familyWiseProbability(logEValue),
      qValue: qValuesInOrder[judged],
      homologyProbability:
        table && homologyProbability(table, logProbabilities[judged] + searched.logCount, searchedCount),
      tangent: tail.tangent,
    };
  });
}

/**
 * Judges further alignments by the null of their stretches. Moments, hubness and the reversed-query control stay those
 * of the whole pair. Stretches whose lengths the calibration does not cover get the bin of the pair. A stretch that is
 * too short for it counts as one of the least length. E-values count as many stretches as the pair holds.
 */
function alignmentJudge(
  places: readonly (Place | UnsupportedReason)[],
  { card, bins, pairNull, logLevel }: Calibration,
  population: SearchedPopulation,
): JudgeAlignment {
  const { supported } = card;
  const placeOf = new Map<number, Place>();
  for (const place of places) if (typeof place !== 'string') placeOf.set(place.targetIndex, place);
  return (targetIndex, rawScore, stretches) => {
    const place = placeOf.get(targetIndex);
    if (place === undefined) return undefined;
    const { score, control } = place;
    const lengths = stretches ?? place.pair;
    const queryLength = Math.max(lengths.queryLength, supported.query_minimum_residues);
    const targetLength = Math.max(lengths.targetLength, supported.target_minimum_residues);
    const { meanClosestCosine } = stretches ?? score;
    const pair = { ...place.pair, queryLength, targetLength };
    const ownBin = binOf(bins, card, queryLength, targetLength);
    const bin = ownBin.card.status === 'qualified' ? ownBin : place.bin;
    // A further alignment gets its share of the profile score of the pair.
    const profileScore = (score.profileScore * rawScore) / score.affineScore;
    const plain = tailCoordinate(pairNull, pair, { affineScore: rawScore, meanClosestCosine, profileScore });
    const coordinate =
      control === undefined
        ? plain
        : controlledCoordinate(plain, controlCoordinate(pairNull, pair, { ...control, meanClosestCosine }));
    const { logProbability } = judgeTail(bin, coordinate, card.maximum_log_extrapolation_factor);
    const log = logProbability + logChoices(place.pair, lengths);
    const logEValue = Math.min(0, log + logLevel) + population.logCount;
    const eValue = eValueAmong(population, logEValue);
    return { eValue, logEValue, bitScore: 0 - log / Math.LN2 };
  };
}

/**
 * ln of the number of such stretches in both proteins. Earlier alignments leave several free, and the best alignment of
 * all of them is judged in its own.
 */
function logChoices(
  whole: Pick<NullPair, 'queryLength' | 'targetLength'>,
  free: Pick<NullPair, 'queryLength' | 'targetLength'>,
): number {
  return Math.log((whole.queryLength / free.queryLength) * (whole.targetLength / free.targetLength));
}

/** Bin of pairs with these lengths. */
export function binOf(
  bins: Calibration['bins'],
  { stratum_edges: edges }: CalibrationCard,
  queryLength: number,
  targetLength: number,
): Bin {
  return bins[stratumOf(queryLength, edges)][stratumOf(targetLength, edges)];
}

/** Tail coordinate of a candidate, or the reason why it has no tail probability. */
function placeCandidate(
  { targetIndex, affine, maxsim }: Scored,
  profileScore: number,
  own: ProteinCovariates,
  { targets }: Release,
  calibration: Calibration,
): Place | UnsupportedReason {
  const { card, bins, moments, pairNull, hubnesses, promiscuity, classBias, repeats, repeatShares } =
    calibration;
  const length = targets.length(targetIndex);
  if (length < card.supported.target_minimum_residues) return 'target_too_short';
  if (length > card.supported.target_maximum_residues) return 'target_too_long';
  if (affine.rawScore === 0) return 'no_affine_score';
  const bin = binOf(bins, card, own.length, length);
  if (bin.card.status !== 'qualified') return bin.card.status;
  const target = {
    length,
    hubness: hubnesses(targetIndex),
    promiscuity: targetMomentSum(promiscuity, moments, targetIndex),
    classBias: targetClassBias(classBias, moments, targetIndex),
    repeatShare: repeatShares?.[targetIndex] ?? 0,
    composition: compositionOf(targets.sequence(targetIndex)),
  };
  const pair = nullPairOf(pairMoments(own.projected, moments, targetIndex), own, target, repeats);
  const score = { affineScore: affine.rawScore, meanClosestCosine: 1 - maxsim.bidirectional, profileScore };
  return { targetIndex, bin, pair, score, coordinate: tailCoordinate(pairNull, pair, score) };
}

/** Profile scores of the query with each candidate; zeros if the null does not use them. */
async function profileScoresOf(
  { tokens }: EncodedQuery,
  candidates: readonly Scored[],
  { store, backend }: SearchEngine,
  { pairNull }: Calibration,
  options: KernelOptions,
): Promise<Int32Array> {
  if (pairNull.scores.profileScore === 0) return new Int32Array(candidates.length);
  const targets = Uint32Array.from(candidates, ({ targetIndex }) => targetIndex);
  return profileScores(store, tokens, targets, backend, options);
}

/** Pairs of one query that get a reversed-query control. */
interface ControlledPairs {
  /** Whether the caller uses a pair with this coordinate. */
  readonly isUsed: (place: Place) => boolean;
  readonly controlsOf: (targets: Uint32Array) => Promise<ControlScores>;
}

/**
 * Lowers the coordinates of high-scoring pairs by their reversed-query controls (significance/control.ts).
 */
async function withControls(
  places: readonly (Place | UnsupportedReason)[],
  { card, pairNull }: Calibration,
  { isUsed, controlsOf }: ControlledPairs,
): Promise<readonly (Place | UnsupportedReason)[]> {
  if (card.format === UNCONTROLLED_FORMAT) return places;
  const isHighScoring = (place: Place | UnsupportedReason): place is Place =>
    typeof place !== 'string' && place.coordinate > CHANCE_COORDINATE && isUsed(place);
  const highScoring = places.filter(isHighScoring);
  if (highScoring.length === 0) return places;
  const scores = await controlsOf(Uint32Array.from(highScoring, ({ targetIndex }) => targetIndex));
  let at = -1;
  return places.map((place) => {
    if (!isHighScoring(place)) return place;
    at += 1;
    const { pair, score, coordinate } = place;
    const control = { ...score, affineScore: scores.affine[at], profileScore: scores.profile[at] };
    const controlled = controlledCoordinate(coordinate, controlCoordinate(pairNull, pair, control));
    return { ...place, coordinate: controlled, control };
  });
}
