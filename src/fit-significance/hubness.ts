import {
  momentForm,
  pairMoments,
  projectMoments,
  proteinMoments,
  type MomentTable,
} from '../significance/moments.js';
import {
  HUBNESS_COMPONENT_COUNT,
  shapeTerms,
  shapeTermCount,
  type NullPair,
  type ShapeScales,
} from '../significance/pair-null.js';
import { pairCysteines } from '../significance/cysteines.js';
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
import type { KernelBackend, KernelOptions, QueryTokens, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import { maxsimDistances } from '../search/rank.js';
import type { NullSample } from './sample.js';
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
  /** One per sampled protein; 0 before promiscuity is fitted. */
  readonly promiscuities: Float64Array;
  /** Returns all covariates of a pair. */
  pairAt(pair: number): NullPair;
}

/**
 * Draws the reference set, fits the hubness model to pairs of the sample, and measures each sampled protein. The
 * expected similarity of a pair is a linear regression on the terms of its shape.
 */
export function measureSampleHubness(
  sample: NullSample,
  scales: ShapeScales,
  random: Random,
  draw: ReferenceSetDraw = DEFAULT_DRAW,
): HubnessSample {
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
  const referenceSet = drawReferenceSet(sample, draw, random);
  const memberAt = membersOf(referenceSet, sample.proteinCount);
  const contributions = contributionsOf(sample, referenceSet, memberAt, (pair) => residual(pair, plain));
  const hubness = sample.hasProfiles
    ? { ...plain, leanings: findHubnessComponents(contributions, plain, memberAt, random) }
    : plain;
  const table = tableOf(hubness, contributions, memberAt);
  const hubnesses = contributions.map((_, protein) => table.of(protein));
  const promiscuities = new Float64Array(sample.proteinCount);
  return withPromiscuities({ ...sample, hubness, referenceSet, hubnesses }, promiscuities);
}

/**
 * Returns the sample with these promiscuities in the covariates of each pair.
 * Shape  promiscuities [sample.proteinCount]
 * Unit   ln of a frequency, up to a constant
 * Range  any finite number
 */
export function withPromiscuities(
  sample: Omit<HubnessSample, 'promiscuities' | 'pairAt'>,
  promiscuities: Float64Array,
): HubnessSample {
  const { hubnesses, firsts, seconds, cysteines } = sample;
  // Copied member by member: spreading the shape takes half of the time of a fit.
  const pairAt = (pair: number): NullPair => {
    const shape = sample.shapeAt(pair);
    const [first, second] = [hubnesses[firsts[pair]], hubnesses[seconds[pair]]];
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
      promiscuity: promiscuities[firsts[pair]] + promiscuities[seconds[pair]],
      classBias: 0,
      repeats: 0,
      composition: 0,
      queryMembraneShare: 0,
      targetMembraneShare: 0,
      cysteines: pairCysteines(cysteines[firsts[pair]], cysteines[seconds[pair]]),
    };
  };
  return Object.freeze({ ...sample, promiscuities, pairAt });
}

/** How the reference set is drawn from the sample. */
export interface ReferenceSetDraw {
  /** Upper bound of the members. 1.. */
  readonly count: number;
  /** Lengths of the members. Unit: residues, inclusive */
  readonly minimumResidues: number;
  readonly maximumResidues: number;
}

const DEFAULT_DRAW: ReferenceSetDraw = {
  count: REFERENCE_SET_COUNT,
  minimumResidues: 0,
  maximumResidues: Infinity,
};

/** Returns indices within the sample, ascending. */
function drawReferenceSet({ lengths }: NullSample, draw: ReferenceSetDraw, random: Random): Uint32Array {
  const usable = Uint32Array.from(lengths.keys()).filter(
    (protein) => lengths[protein] >= draw.minimumResidues && lengths[protein] <= draw.maximumResidues,
  );
  return sampleDistinct(usable.length, draw.count, random).map((at) => usable[at]);
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

/** One protein of the reference set. */
export interface ReferenceMember {
  /** Target index of the member; −1 if it is not a target of the release. */
  readonly target: number;
  /** Errors  those of the token reader */
  read(): Promise<QueryTokens>;
}

export interface HubnessMeasurement {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  readonly moments: MomentTable;
  readonly scales: ShapeScales;
  readonly hubness: HubnessModel;
  readonly members: readonly ReferenceMember[];
  /** A JSON value that identifies the members among those of other calibrations. */
  readonly membersIdentity: unknown;
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
 * Errors  Fault of kernels or token file; the signal's reason between two steps; those of the file system
 * Cost    one MaxSim scan of the release for each member of the reference set
 */
export async function measureHubnesses(measurement: HubnessMeasurement): Promise<HubnessTable> {
  const { release, members, membersIdentity, hubness, scales, basisDigest, checkpoints, onReferenceSet } =
    measurement;
  const proteinCount = release.targets.count;
  const memberAt = new Map(members.map(({ target }, member) => [target, member]));
  const size = {
    referenceSetSize: members.length,
    proteinCount,
    memberOf: (protein: number) => memberAt.get(protein) ?? -1,
  };
  let table = createHubnessTable(hubness, size);
  await runPhase(checkpoints, {
    name: 'panel',
    inputs: { basis: basisDigest, bias: hubness, scales, panel: membersIdentity },
    stepCount: Math.ceil(members.length / STEP_MEMBERS),
    async step(index) {
      const next = createHubnessTable(hubness, { ...size, sums: table.sums.slice() });
      const start = index * STEP_MEMBERS;
      await addContributions(measurement, start, Math.min(members.length, start + STEP_MEMBERS), next);
      return next.sums;
    },
    take: (record) => (table = createHubnessTable(hubness, { ...size, sums: new Float64Array(record) })),
    report: (steps) => onReferenceSet(Math.min(members.length, steps * STEP_MEMBERS), members.length),
  });
  return table;
}

/** Adds the contributions of a range of the reference set to the hubness of every other target. */
async function addContributions(
  { release, backend, store, moments, hubness, scales, ...measurement }: HubnessMeasurement,
  start: number,
  end: number,
  table: HubnessTable,
): Promise<void> {
  const { signal, threads } = measurement;
  signal?.throwIfAborted();
  const { targets, manifest } = release;
  const form = momentForm(manifest);
  const members = measurement.members.slice(start, end);
  const queries = await Promise.all(members.map((member) => member.read()));
  const results = await backend.maxsim(store, queries, undefined, { signal, threads });
  queries.forEach((tokens, at) => {
    const sums = results[at];
    const projected = projectMoments(proteinMoments(tokens, form), moments.basis, moments.rank);
    for (let target = 0; target < targets.count; target += 1) {
      if (target === members[at].target) continue;
      const pair = { queryToTarget: sums.queryToTarget[target], targetToQuery: sums.targetToQuery[target] };
      const length = targets.length(target);
      const distances = maxsimDistances(pair, tokens.length, length, form.inverseStep);
      const shape = {
        queryLength: tokens.length,
        targetLength: length,
        ...pairMoments(projected, moments, target),
      };
      const contribution = hubnessContribution(hubness, scales, shape, 1 - distances.bidirectional);
      table.add(target, start + at, contribution);
    }
  });
}
