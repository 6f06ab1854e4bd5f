import {
  CARD_FORMAT,
  ESTIMAND_ID,
  MAXIMUM_LOG_EXTRAPOLATION,
  METHOD_ID,
  NULL_POPULATION_ID,
  PROFILED_FORMAT,
  QUALIFICATION_ID,
  TAIL_COORDINATE_ID,
  conditioningContextId,
  type PopulationCard,
} from '../significance/card.js';
import type { Release } from '../release/release.js';
import { referencePolicyId } from '../search/plan.js';
import type { StratifiedBins } from './bins.js';
import type { HubnessSample } from './hubness.js';
import type { NullFit } from './null.js';
import type { NullSample } from './sample.js';
import type { CardContent } from './write.js';

/** Largest supported length, as a multiple of the longest protein of the sample. */
const LONGEST_FACTOR = 2;

/** The results of a calibration. */
export interface CalibrationResults {
  readonly seed: number;
  /** Target index of each sampled protein. */
  readonly targets: Uint32Array;
  readonly sample: HubnessSample;
  readonly fit: NullFit;
  readonly strata: StratifiedBins;
  readonly populations: readonly PopulationCard[];
  /** Rank of the moment sketches. */
  readonly rank: number;
  /** Shortest supported protein. Unit: residues. */
  readonly fewestResidues: number;
  /** Largest concentration of a sampled protein. */
  readonly maximumConcentration: number;
}

/** Returns the card of a calibration without its files. */
export function describeCard(release: Release, results: CalibrationResults): CardContent {
  const { seed, targets, sample, fit, strata, populations, rank, fewestResidues } = results;
  const pairNull = describePairNull(fit);
  const longest = sample.lengths.reduce((most, length) => Math.max(most, length), 0);
  const range = { minimum: fewestResidues, maximum: LONGEST_FACTOR * longest };
  return {
    format: sample.hasProfiles ? PROFILED_FORMAT : CARD_FORMAT,
    release_id: release.id,
    policy_id: referencePolicyId(release.manifest),
    seed,
    null_population_id: NULL_POPULATION_ID,
    tail_coordinate_id: TAIL_COORDINATE_ID,
    conditioning_context_id: conditioningContextId(pairNull),
    method_id: METHOD_ID,
    estimand_id: ESTIMAND_ID,
    qualification_id: QUALIFICATION_ID,
    maximum_log_extrapolation_factor: MAXIMUM_LOG_EXTRAPOLATION,
    sample: describeSample(sample, fit),
    supported: {
      query_minimum_residues: range.minimum,
      query_maximum_residues: range.maximum,
      target_minimum_residues: range.minimum,
      target_maximum_residues: range.maximum,
      maximum_concentration: results.maximumConcentration,
    },
    stratum_edges: strata.edges,
    pair_null: pairNull,
    bias: { ...sample.hubness, panel: Array.from(sample.referenceSet, (member) => targets[member]) },
    bins: strata.bins,
    populations,
    moments: { dimension: release.manifest.encoder.dimension, rank },
  };
}

function describeSample(sample: NullSample, fit: NullFit): CardContent['sample'] {
  return {
    protein_count: sample.proteinCount,
    pair_count: sample.pairCount,
    connected_pair_count: fit.connectedPairCount,
    link_count: fit.linkCount,
    link_log_probability: fit.linkLogProbability,
    largest_component: fit.largestComponent,
  };
}

function describePairNull({ pairNull, promiscuity: model }: NullFit): CardContent['pair_null'] {
  const { shape, promiscuity } = pairNull;
  const { profiles } = shape;
  const { slopes, slowerShare, shortFactor } = pairNull.rate;
  const [lengthSlope, meanSlope, spreadSlope, ...profileSlopes] = slopes;
  const [profileMeanSlope, profileSpreadSlope, effectiveSlope, ...otherSlopes] = profileSlopes;
  const hubnessComponentSlopes = otherSlopes.slice(0, pairNull.hubnessComponents.length);
  const profileCard = profiles && {
    log_mean: profiles.logMean,
    log_spread: profiles.logSpread,
    log_effective: profiles.logEffective,
    mean_slope: profileMeanSlope,
    spread_slope: profileSpreadSlope,
    effective_slope: effectiveSlope,
    leanings: pairNull.hubnessComponents,
    leaning_slopes: hubnessComponentSlopes,
    score_weight: pairNull.scores.profileScore,
  };
  return {
    log_shorter: shape.logShorter,
    log_longer: shape.logLonger,
    mean_cosine: shape.meanCosine,
    cosine_spread: shape.cosineSpread,
    bias: pairNull.hubness,
    weights: pairNull.weights,
    scale: pairNull.scale,
    length_slope: lengthSlope,
    mean_slope: meanSlope,
    spread_slope: spreadSlope,
    slower_share: slowerShare,
    short_factor: shortFactor,
    score_per_cosine: pairNull.scores.scorePerCosine,
    cysteine_weight: pairNull.cysteines.weight,
    usual_cysteine_share: pairNull.cysteines.usualShare,
    ...(profileCard === undefined ? {} : { profiles: profileCard }),
    ...(promiscuity &&
      model && {
        promiscuity: {
          ...promiscuity,
          slope: slopes.at(-1)!,
          mean_weights: model.meanWeights,
          sketch_weights: model.sketchWeights,
        },
      }),
  };
}
