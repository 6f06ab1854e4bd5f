import type { ProjectedMoments } from '../significance/moments.js';
import type { MomentWeights } from '../significance/moment-weights.js';
import { excessCoordinate, type PairNull, type ShapeScales } from '../significance/pair-null.js';
import type { Random } from '../random.js';
import { addProfileScore, EXCEEDANCE_SHARE, fitPairNull, withProfileScores } from './fit.js';
import { createComponents, type Components } from './statistics/links.js';
import type { HubnessSample } from './hubness.js';
import { fitPromiscuity, withPromiscuity } from './promiscuity.js';
import type { NullSample } from './sample.js';

/** The null model of a sample, fitted without the pairs that links connect. */
export interface NullFit {
  readonly pairNull: PairNull;
  /** Undefined for a small sample. */
  readonly promiscuity: MomentWeights | undefined;
  /** Tail coordinate of every pair of the sample. */
  readonly coordinates: Float64Array;
  /** Returns whether a chain of links connects the two proteins of a pair. */
  readonly isConnected: (pair: number) => boolean;
  /** Returns whether a chain of links connects two proteins. True for a protein and itself. */
  readonly areConnected: (a: number, b: number) => boolean;
  readonly linkCount: number;
  /** ln P below which a pair counts as a link. Less than one unrelated pair of the sample is expected below it. */
  readonly linkLogProbability: number;
  readonly connectedPairCount: number;
  readonly largestComponent: number;
}

/**
 * Each round fits and links. The first measures promiscuities, which the later ones use. The second fit is hardly
 * affected by homologs, and the third not at all.
 */
const ROUNDS = 3;

/**
 * Fits the null model of a sample that contains unlabelled homologs. A pair is a link if less than one unrelated pair
 * of the sample is expected to reach its score. All pairs within a group of linked proteins are left out, whatever
 * their scores, so that the null is hardly truncated. The profile score joins the finished fit (`addProfileScore`).
 * @param moments  of each protein
 * @param labels  optional group of each protein (cluster, family); proteins with equal labels are linked
 * Shape   labels [sample.proteinCount]
 * Unit    group numbers
 * Range   0 or more; −1 for a protein without a group
 * Errors  returns undefined if the sample does not support a fit
 */
export function fitNull(
  sample: HubnessSample,
  shape: ShapeScales,
  moments: readonly ProjectedMoments[],
  random: Random,
  labels?: Int32Array,
): NullFit | undefined {
  const linkLogProbability = -Math.log(sample.pairCount);
  let components = linkLabels(sample, labels);
  let pairNull: PairNull | undefined;
  let coordinates: Float64Array = new Float64Array(0);
  let current = sample;
  let promiscuity: MomentWeights | undefined;
  let linkCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const previous = components;
    const isLeftOut = (pair: number): boolean =>
      previous.isConnected(sample.firsts[pair], sample.seconds[pair]);
    pairNull = fitPairNull(current, shape, isLeftOut, random);
    if (pairNull === undefined) return undefined;
    coordinates = coordinatesOf(current, pairNull);
    components = linkLabels(sample, labels);
    linkCount = linkHits(sample, coordinates, linkLogProbability, components);
    if (round > 0) continue;
    const { isConnected } = components;
    promiscuity = fitPromiscuity(sample, moments, coordinates, (pair) =>
      isConnected(sample.firsts[pair], sample.seconds[pair]),
    );
    current = withPromiscuity(sample, moments, promiscuity);
  }
  if (sample.scores.profileScore > 0) {
    const { isConnected: isLinked } = components;
    const isLeftOut = (pair: number): boolean => isLinked(sample.firsts[pair], sample.seconds[pair]);
    current = withProfileScores(current);
    pairNull = addProfileScore(current, pairNull!, isLeftOut, random);
    coordinates = coordinatesOf(current, pairNull);
    components = linkLabels(sample, labels);
    linkCount = linkHits(sample, coordinates, linkLogProbability, components);
  }
  const areConnected = components.isConnected;
  const isConnected = (pair: number): boolean => areConnected(sample.firsts[pair], sample.seconds[pair]);
  let connectedPairCount = 0;
  for (let pair = 0; pair < sample.pairCount; pair += 1) if (isConnected(pair)) connectedPairCount += 1;
  return {
    pairNull: pairNull!,
    promiscuity,
    coordinates,
    isConnected,
    areConnected,
    linkCount,
    linkLogProbability,
    connectedPairCount,
    largestComponent: components.largest(),
  };
}

function linkLabels(sample: NullSample, labels: Int32Array | undefined): Components {
  const components = createComponents(sample.proteinCount);
  const firstOf = new Map<number, number>();
  labels?.forEach((label, protein) => {
    if (label < 0) return;
    const first = firstOf.get(label);
    if (first === undefined) firstOf.set(label, protein);
    else components.link(first, protein);
  });
  return components;
}

/** Links every pair above the bound. Above 0, P falls as EXCEEDANCE_SHARE · e^(−coordinate). Returns their number. */
function linkHits(
  sample: NullSample,
  coordinates: Float64Array,
  linkLogProbability: number,
  components: Components,
): number {
  const bound = Math.log(EXCEEDANCE_SHARE) - linkLogProbability;
  let links = 0;
  for (let pair = 0; pair < sample.pairCount; pair += 1) {
    if (coordinates[pair] < bound) continue;
    components.link(sample.firsts[pair], sample.seconds[pair]);
    links += 1;
  }
  return links;
}

function coordinatesOf(sample: HubnessSample, model: PairNull): Float64Array {
  return sample.evidence.map((evidence, pair) => excessCoordinate(model, sample.pairAt(pair), evidence));
}
