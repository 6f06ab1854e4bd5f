import { pairMoments, projectMoments, type MomentTable } from '../significance/moments.js';
import {
  HUBNESS_COMPONENT_COUNT,
  shapeTerms,
  shapeTermCount,
  type NullPair,
  type ShapeScales,
} from '../significance/pair-null.js';
import {
  hubnessContribution,
  createHubnessTable,
  hubnessComponentsOf,
  type HubnessModel,
  type HubnessTable,
  type HubnessComponentModel,
  type ProteinHubness,
} from '../significance/hubness.js';
import { sampleDistinct, type Random } from '../random.js';
import type { KernelBackend, KernelOptions, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { maxsimDistances } from '../search/rank.js';
import { readMoments } from './moments.js';
import type { NullSample } from './sample.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import { leadingDirections } from './statistics/leading-directions.js';
import { weightedLeastSquares } from './statistics/linear-quantile.js';
import { runPhase, type CheckpointFolder } from './checkpoints.js';

/** Size of the reference set. The sampling error of a hubness is a third of the spread of hubnesses. */
export const REFERENCE_SET_COUNT = 160;
const REGRESSION_PAIRS = 200_000;
/** Quantiles over all pairs that bound the contribution of one member. Pairs above the upper one may be homologs. */
const LOWER_SHARE = 0.02;
const UPPER_SHARE = 0.95;
const SPARE_DIRECTIONS = 2;

/** A sample with the hubness of each protein. */
export interface HubnessSample extends NullSample {
  readonly hubness: HubnessModel;
  /** Indices of the reference set within the sample, ascending. */
  readonly referenceSet: Uint32Array;
  /** One per sampled protein. */
  readonly hubnesses: readonly ProteinHubness[];
  /** Returns all covariates of a pair. */
  pairAt(pair: number): NullPair;
}

/**
 * Draws the reference set, fits the hubness model to pairs of the sample, and measures each sampled protein. The
 * expected similarity of a pair is a linear regression on the terms of its shape.
 */
export function measureSampleHubness(sample: NullSample, scales: ShapeScales, random: Random): HubnessSample {
  const chosen = sampleDistinct(sample.pairCount, REGRESSION_PAIRS, random);
  const termCount = shapeTermCount(scales);
  const terms = new Float64Array(chosen.length * termCount);
  chosen.forEach((pair, row) => shapeTerms(sample.shapeAt(pair), scales, terms, row * termCount));
  const values = Float64Array.from(chosen, (pair) => sample.meanClosestCosine[pair]);
  const equal = new Float64Array(chosen.length).fill(1);
  const weights = Array.from(weightedLeastSquares(terms, values, equal, termCount));
  const unbounded = { weights, minimum: -Infinity, maximum: Infinity };
  const residual = (pair: number, model: HubnessModel): number =>
    hubnessContribution(model, scales, sample.shapeAt(pair), sample.meanClosestCosine[pair]);
  const residuals = Float64Array.from(chosen, (pair) => residual(pair, unbounded)).sort();
  const plain = {
    weights,
    minimum: residuals[Math.floor(LOWER_SHARE * residuals.length)],
    maximum: residuals[Math.floor(UPPER_SHARE * residuals.length)],
  };
  const referenceSet = sampleDistinct(sample.proteinCount, REFERENCE_SET_COUNT, random);
  const memberAt = membersOf(referenceSet, sample.proteinCount);
  const contributions = contributionsOf(sample, referenceSet, memberAt, (pair) => residual(pair, plain));
  const hubness = sample.hasProfiles
    ? { ...plain, leanings: findHubnessComponents(contributions, plain, memberAt, random) }
    : plain;
  const table = tableOf(hubness, contributions, memberAt);
  const hubnesses = contributions.map((_, protein) => table.of(protein));
  // Copied member by member: spreading the shape takes half of the time of a fit.
  const pairAt = (pair: number): NullPair => {
    const shape = sample.shapeAt(pair);
    const [first, second] = [hubnesses[sample.firsts[pair]], hubnesses[sample.seconds[pair]]];
    return {
      queryLength: shape.queryLength,
      targetLength: shape.targetLength,
      meanCosine: shape.meanCosine,
      cosineSpread: shape.cosineSpread,
      logProfileMean: shape.logProfileMean,
      logProfileSpread: shape.logProfileSpread,
      logEffective: shape.logEffective,
      queryHubness: first.hubness,
      targetHubness: second.hubness,
      hubnessComponents: hubnessComponentsOf(first, second),
    };
  };
  return Object.freeze({ ...sample, hubness, referenceSet, hubnesses, pairAt });
}

/** Returns the index of each protein in the reference set, or −1. */
function membersOf(referenceSet: Uint32Array, proteinCount: number): Int32Array {
  const members = new Int32Array(proteinCount).fill(-1);
  referenceSet.forEach((protein, member) => (members[protein] = member));
  return members;
}

/** Returns the contribution of each member of the reference set to each sampled protein; NaN for itself. */
function contributionsOf(
  { proteinCount, pairCount, firsts, seconds }: NullSample,
  referenceSet: Uint32Array,
  memberAt: Int32Array,
  contributionAt: (pair: number) => number,
): readonly Float64Array[] {
  const rows = Array.from({ length: proteinCount }, () => new Float64Array(referenceSet.length).fill(NaN));
  for (let pair = 0; pair < pairCount; pair += 1) {
    const [first, second] = [firsts[pair], seconds[pair]];
    if (memberAt[first] < 0 && memberAt[second] < 0) continue;
    const contribution = contributionAt(pair);
    if (memberAt[second] >= 0) rows[first][memberAt[second]] = contribution;
    if (memberAt[first] >= 0) rows[second][memberAt[first]] = contribution;
  }
  return rows;
}

function tableOf(
  model: HubnessModel,
  contributions: readonly Float64Array[],
  memberAt: Int32Array,
): HubnessTable {
  const table = createHubnessTable(model, {
    referenceSetSize: contributions[0].length,
    proteinCount: contributions.length,
    memberOf: (protein) => memberAt[protein],
  });
  contributions.forEach((row, protein) =>
    row.forEach((contribution, member) => {
      if (!Number.isNaN(contribution)) table.add(protein, member, contribution);
    }),
  );
  return table;
}

/** Computes the leading principal components of the contributions, after each protein's hubness is subtracted. */
function findHubnessComponents(
  contributions: readonly Float64Array[],
  plain: HubnessModel,
  memberAt: Int32Array,
  random: Random,
): HubnessComponentModel {
  const table = tableOf(plain, contributions, memberAt);
  const rest = contributions.map((row, protein) => {
    const { hubness } = table.of(protein);
    return row.map((value) => value - hubness);
  });
  const centres = Array.from(contributions[0], (_, member) => {
    const values = rest.map((row) => row[member]).filter((value) => !Number.isNaN(value));
    return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  });
  const rows = rest.map((row) =>
    row.map((value, member) => (Number.isNaN(value) ? 0 : value - centres[member])),
  );
  // Orthogonal iteration converges faster with a few more directions than needed.
  const leading = leadingDirections(rows, HUBNESS_COMPONENT_COUNT + SPARE_DIRECTIONS, random).slice(
    0,
    HUBNESS_COMPONENT_COUNT,
  );
  const directions = leading.map((direction) => {
    let squares = 0;
    for (const row of rows) squares += row.reduce((sum, value, at) => sum + value * direction[at], 0) ** 2;
    return Array.from(direction, (value) => value / Math.sqrt(squares / rows.length));
  });
  return { centres, directions };
}

export interface HubnessMeasurement {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  readonly reader: TokenReader;
  readonly moments: MomentTable;
  readonly scales: ShapeScales;
  readonly hubness: HubnessModel;
  /** Ascending target indices. */
  readonly referenceSet: Uint32Array;
  readonly checkpoints: CheckpointFolder;
  /** Digest of the basis, which determines the moments. */
  readonly basisDigest: string;
  readonly signal?: KernelOptions['signal'];
  readonly threads?: KernelOptions['threads'];
  readonly onReferenceSet: (done: number, total: number) => void;
}

/** Members of the reference set in one checkpoint record, which holds the sums of all targets. */
const STEP_MEMBERS = 8;

/**
 * Measures the hubness of every target of the release.
 * Errors  Fault of kernels or token file; the signal's reason between two members; those of the file system
 * Cost    one MaxSim scan of the release for each member of the reference set
 */
export async function measureHubnesses(measurement: HubnessMeasurement): Promise<HubnessTable> {
  const { release, referenceSet, hubness, scales, basisDigest, checkpoints, onReferenceSet } = measurement;
  const proteinCount = release.targets.count;
  const memberAt = membersOf(referenceSet, proteinCount);
  const size = {
    referenceSetSize: referenceSet.length,
    proteinCount,
    memberOf: (protein: number) => memberAt[protein],
  };
  let table = createHubnessTable(hubness, size);
  await runPhase(checkpoints, {
    name: 'panel',
    inputs: { basis: basisDigest, bias: hubness, scales, panel: Array.from(referenceSet) },
    stepCount: Math.ceil(referenceSet.length / STEP_MEMBERS),
    async step(index) {
      const next = createHubnessTable(hubness, { ...size, sums: table.sums.slice() });
      const start = index * STEP_MEMBERS;
      for (let at = start; at < Math.min(referenceSet.length, start + STEP_MEMBERS); at += 1) {
        await addContributions(measurement, at, next);
        if (at > start) onReferenceSet(at, referenceSet.length);
      }
      return next.sums;
    },
    take: (record) => (table = createHubnessTable(hubness, { ...size, sums: new Float64Array(record) })),
    report: (steps) =>
      onReferenceSet(Math.min(referenceSet.length, steps * STEP_MEMBERS), referenceSet.length),
  });
  return table;
}

/** Adds the contribution of one member of the reference set to the hubness of every other target. */
async function addContributions(
  { release, backend, store, reader, moments, hubness, scales, ...measurement }: HubnessMeasurement,
  place: number,
  table: HubnessTable,
): Promise<void> {
  const { referenceSet, signal, threads } = measurement;
  signal?.throwIfAborted();
  const { targets, manifest } = release;
  const inverseStep = manifest.encoder.inverse_step;
  const member = referenceSet[place];
  const tokens = await reader.read(member);
  const [sums] = await backend.maxsim(store, [tokens], undefined, { signal, threads });
  const own = await readMoments(release, reader, member);
  const projected = projectMoments(own, moments.basis, moments.rank);
  for (let target = 0; target < targets.count; target += 1) {
    if (target === member) continue;
    const pair = { queryToTarget: sums.queryToTarget[target], targetToQuery: sums.targetToQuery[target] };
    const length = targets.length(target);
    const meanClosestCosine = 1 - maxsimDistances(pair, tokens.length, length, inverseStep).bidirectional;
    const shape = {
      queryLength: tokens.length,
      targetLength: length,
      ...pairMoments(projected, moments, target),
    };
    table.add(target, place, hubnessContribution(hubness, scales, shape, meanClosestCosine));
  }
}
