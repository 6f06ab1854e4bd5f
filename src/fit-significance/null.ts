import { excessCoordinate, type PairNull, type ShapeScales } from '../significance/pair-null.js';
import type { Random } from '../random.js';
import { EXCEEDANCE_SHARE, fitPairNull } from './fit.js';
import { createComponents, type Components } from './statistics/links.js';
import type { HubnessSample } from './hubness.js';
import type { NullSample } from './sample.js';

/** The null of a sample after everything that evident relatives connect has been left out. */
export interface NullFit {
  readonly pairNull: PairNull;
  /** Tail coordinate of every pair of the sample. */
  readonly coordinates: Float64Array;
  readonly isConnected: (pair: number) => boolean;
  /** The same of two proteins; true of a protein and itself. */
  readonly areConnected: (a: number, b: number) => boolean;
  readonly linkCount: number;
  /** ln P below which a pair of unrelated proteins counts as a link: less than one such pair is expected by chance. */
  readonly linkLogProbability: number;
  readonly connectedPairCount: number;
  readonly largestComponent: number;
}

/** Fits, links, leaves out, and fits again: the second fit is hardly moved by relatives, the third not at all. */
const ROUNDS = 3;

/**
 * The null model of a sample that holds relatives nobody has labelled. A pair whose score would be reached by less than
 * one unrelated pair of the sample is a link; all pairs within a group of linked proteins are left out, whatever their
 * scores, so that leaving out hardly truncates the null.
 * @param labels  optional group of each protein (cluster, family): equal labels are links too; −1 is none
 * Errors  undefined where the sample does not support a fit
 */
export function fitNull(
  sample: HubnessSample,
  shape: ShapeScales,
  random: Random,
  labels?: Int32Array,
): NullFit | undefined {
  const linkLogProbability = -Math.log(sample.pairCount);
  let components = linkLabels(sample, labels);
  let pairNull: PairNull | undefined;
  let coordinates: Float64Array = new Float64Array(0);
  let linkCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const known = components;
    const isKnown = (pair: number): boolean => known.isConnected(sample.firsts[pair], sample.seconds[pair]);
    pairNull = fitPairNull(sample, shape, isKnown, random);
    if (pairNull === undefined) return undefined;
    coordinates = coordinatesOf(sample, pairNull);
    components = linkLabels(sample, labels);
    linkCount = linkHits(sample, coordinates, linkLogProbability, components);
  }
  const areConnected = components.isConnected;
  const isConnected = (pair: number): boolean => areConnected(sample.firsts[pair], sample.seconds[pair]);
  let connectedPairCount = 0;
  for (let pair = 0; pair < sample.pairCount; pair += 1) if (isConnected(pair)) connectedPairCount += 1;
  return {
    pairNull: pairNull!,
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

/** Links every pair beyond the bound; the coordinate falls off as e^(−coordinate) above its threshold at 0. */
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
