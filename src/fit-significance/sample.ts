import { countCysteines, type CysteineCount } from '../significance/cysteines.js';
import { momentsOfPair, type ProjectedMoments } from '../significance/moments.js';
import { pairEvidence, type PairShape, type ScoreWeights } from '../significance/pair-null.js';
import type { Release } from '../release/release.js';
import { maxsimDistances } from '../search/rank.js';
import { pairStart, type PairScores } from './pairs.js';

/** Role of a protein in the fit. Pairs of two different roles belong neither to the fit nor to the hold-out. */
export const ROLE_FIT = 0;
export const ROLE_HOLDOUT = 1;

/** All unordered pairs of the sampled proteins, with their scores and covariates. */
export interface NullSample {
  readonly proteinCount: number;
  readonly pairCount: number;
  /** Whether its proteins have profiles. */
  readonly hasProfiles: boolean;
  /** Residues of each protein. */
  readonly lengths: Uint32Array;
  /** Cysteines of each protein. */
  readonly cysteines: readonly CysteineCount[];
  /** ROLE_FIT or ROLE_HOLDOUT of each protein. */
  readonly roles: Uint8Array;
  /** Combined score of each pair (`pairEvidence`), without the profile score. */
  readonly evidence: Float64Array;
  /** Profile score of each pair; zeros without profiles. */
  readonly profileScores: Int32Array;
  readonly scores: ScoreWeights;
  /** Pairs of two fitted proteins. */
  readonly fitPairs: Uint32Array;
  /** Pairs of two held-out proteins. */
  readonly holdoutPairs: Uint32Array;
  /** The two proteins of a pair, smaller index first. */
  readonly firsts: Uint16Array;
  readonly seconds: Uint16Array;
  /** MaxSim similarity of each pair: the mean of both directions' mean closest cosines. */
  readonly meanClosestCosine: Float64Array;
  shapeAt(pair: number): PairShape;
}

/**
 * Combines kernel scores and moments into a sample.
 * Shape   targets, roles [protein count]
 * Unit    target indices; ROLE_FIT or ROLE_HOLDOUT
 * Range   targets ascending; at most 65,535 of them, because protein indices are uint16
 */
export function createNullSample(
  release: Release,
  targets: Uint32Array,
  roles: Uint8Array,
  moments: readonly ProjectedMoments[],
  scores: PairScores,
): NullSample {
  const count = targets.length;
  const pairCount = pairStart(count, count);
  const lengths = targets.map((target) => release.targets.length(target));
  const { firsts, seconds, hasProfiles, shapeAt } = shapesOf(lengths, moments);
  const meanClosestCosine = meanClosestCosinesOf(release, shapeAt, scores);
  const weights = scoreWeightsOf(release, hasProfiles);
  const evidence = meanClosestCosine.map((close, pair) =>
    pairEvidence(
      shapeAt(pair),
      {
        affineScore: scores.affine[pair],
        meanClosestCosine: close,
        profileScore: 0,
      },
      weights,
    ),
  );
  const pairsOf = (role: number): Uint32Array => {
    const isOf = (pair: number): boolean => roles[firsts[pair]] === role && roles[seconds[pair]] === role;
    return Uint32Array.from({ length: pairCount }, (_, pair) => pair).filter(isOf);
  };
  const fitPairs = pairsOf(ROLE_FIT);
  const holdoutPairs = pairsOf(ROLE_HOLDOUT);
  return Object.freeze({
    proteinCount: count,
    pairCount,
    hasProfiles,
    lengths,
    cysteines: Array.from(targets, (target) => countCysteines(release.targets.sequence(target))),
    roles,
    evidence,
    profileScores: scores.profile,
    scores: weights,
    fitPairs,
    holdoutPairs,
    firsts,
    seconds,
    meanClosestCosine,
    shapeAt,
  });
}

/** Computes proteins, lengths and moments of every pair. */
function shapesOf(
  lengths: Uint32Array,
  moments: readonly ProjectedMoments[],
): Pick<NullSample, 'firsts' | 'seconds' | 'hasProfiles' | 'shapeAt'> {
  const count = lengths.length;
  const pairCount = pairStart(count, count);
  const firsts = new Uint16Array(pairCount);
  const seconds = new Uint16Array(pairCount);
  const hasProfiles = moments.every(({ profile }) => profile !== undefined);
  const [means, spreads] = [new Float64Array(pairCount), new Float64Array(pairCount)];
  const profilePairs = hasProfiles ? pairCount : 0;
  const [profileMeans, profileSpreads] = [new Float64Array(profilePairs), new Float64Array(profilePairs)];
  const effective = new Float64Array(profilePairs);
  for (let first = 0, pair = 0; first < count; first += 1) {
    for (let second = first + 1; second < count; second += 1, pair += 1) {
      firsts[pair] = first;
      seconds[pair] = second;
      const shared = momentsOfPair(moments[first], moments[second]);
      means[pair] = shared.meanCosine;
      spreads[pair] = shared.cosineSpread;
      if (!hasProfiles) continue;
      profileMeans[pair] = shared.logProfileMean;
      profileSpreads[pair] = shared.logProfileSpread;
      effective[pair] = shared.logEffective;
    }
  }
  const shapeAt = (pair: number): PairShape => ({
    queryLength: lengths[firsts[pair]],
    targetLength: lengths[seconds[pair]],
    meanCosine: means[pair],
    cosineSpread: spreads[pair],
    logProfileMean: hasProfiles ? profileMeans[pair] : 0,
    logProfileSpread: hasProfiles ? profileSpreads[pair] : 0,
    logEffective: hasProfiles ? effective[pair] : 0,
  });
  return { firsts, seconds, hasProfiles, shapeAt };
}

/** Computes the MaxSim similarity of every pair. */
function meanClosestCosinesOf(
  release: Release,
  shapeAt: (pair: number) => PairShape,
  { forwardSums, backwardSums }: PairScores,
): Float64Array {
  const { inverse_step: inverseStep } = release.manifest.encoder;
  return Float64Array.from(forwardSums, (queryToTarget, pair) => {
    const { queryLength, targetLength } = shapeAt(pair);
    const sums = { queryToTarget, targetToQuery: backwardSums[pair] };
    return 1 - maxsimDistances(sums, queryLength, targetLength, inverseStep).bidirectional;
  });
}

/**
 * Evidence that a bit of the profile score beyond chance adds, relative to the affine score of a cosine: .15 nats of
 * the E-value. Scores of unrelated pairs fall by .18 nats a bit, so that a greater weight claims too much far out. With
 * .01, dev domains find 1.8 times the claimed false hits at E = .01.
 */
const PROFILE_SCORE_WEIGHT = 0.0075;

function scoreWeightsOf({ affine, manifest }: Release, hasProfiles: boolean): ScoreWeights {
  const { multiplier } = affine.withProfiles ?? affine;
  const scorePerCosine = (multiplier * manifest.encoder.inverse_step ** 2) / 65_536;
  return { scorePerCosine, profileScore: hasProfiles ? PROFILE_SCORE_WEIGHT * scorePerCosine : 0 };
}
