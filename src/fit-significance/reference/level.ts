import { affineParameters } from '../../search/pairs/affine.js';
import { profileScores } from '../../search/pairs/profile-scores.js';
import { maxsimDistances } from '../../search/rank.js';
import { stratumOf, type Bin } from '../../significance/calibration.js';
import type { ExceedanceCard, HoldoutStatus, ReferenceUseCard } from '../../significance/card.js';
import { CHANCE_COORDINATE } from '../../significance/control.js';
import { compositionOf } from '../../significance/composition.js';
import { chanceDistance, kolmogorovDistance } from '../../significance/kolmogorov.js';
import { momentForm, pairMoments, projectMoments, proteinMoments } from '../../significance/moments.js';
import { nullPairOf, type NullProtein } from '../../significance/null-pair.js';
import { tailCoordinate } from '../../significance/pair-null.js';
import {
  classBiasOf,
  momentSum,
  targetClassBias,
  targetMomentSum,
} from '../../significance/moment-weights.js';
import type { ReferenceNull } from '../../significance/reference-null.js';
import { tailLogProbability } from '../../significance/tail-model.js';
import { independentCountOf } from '../bins.js';
import { runPhase } from '../checkpoints.js';
import { partnersOf, type LevelPairs } from './level-pairs.js';
import type { MeasureAccess } from '../options.js';
import type { TargetCovariates } from '../write.js';
import { familyLabels } from '../statistics/family-labels.js';
import { createComponents } from '../statistics/links.js';

/*
 * The level of a release: the factor by which its unrelated pairs exceed the threshold of the reference null more or
 * less often than the pairs of the reference. It is measured on exceedances up to CHANCE_COORDINATE: few homologs lie
 * there, and no pair needs a reversed-query control.
 */

/**
 * Standard deviation of ln level over databases, which is the prior of a level. A level that few pairs support is drawn
 * towards 0.
 */
const LEVEL_SPREAD = 0.3;
/** With fewer pairs the share of linked ones says nothing. */
const FEWEST_PAIRS = 100;
const LEAST_UNLINKED_SHARE = 0.5;
const FEWEST_HOLDOUT_EXCEEDANCES = 40;
/** Largest distance of held-out exceedances to the reference tail, beyond the distance expected by chance. */
const LARGEST_DISTANCE = 0.08;

/** The level of a release and its test, without the identity of the reference. */
export type Level = Omit<ReferenceUseCard, 'id' | 'form'>;

/** One pair of the plan. */
interface LevelPair {
  /** Positions among the proteins of the plan. */
  readonly first: number;
  readonly second: number;
  readonly score: number;
  readonly bin: Bin;
}

/**
 * Scores the pairs of the plan, fits the level to all of them, and tests the reference on pairs of held-out proteins.
 * Pairs within a family or clan are left out of both.
 * Returns undefined if these pairs contradict the reference.
 * Errors  Fault of kernels or token file; the signal's reason between two proteins; those of the file system
 */
export async function measureLevel(
  access: MeasureAccess,
  plan: LevelPairs,
  covariates: TargetCovariates,
  reference: ReferenceNull,
  onPairs: (done: number) => void,
): Promise<Level | undefined> {
  const scored = await scoreLevelPairs(access, plan, covariates, reference, onPairs);
  const families = familyLabels(access.release, plan.proteins);
  const pairs = scored.filter(
    ({ first, second }) => families[first] < 0 || families[first] !== families[second],
  );
  const unlinked = withoutLinks(pairs, plan);
  const isHeldOut = ({ first, second }: LevelPair): boolean => first % 2 === 1 && second % 2 === 1;
  const all = measureExceedances(unlinked);
  const heldOut = measureExceedances(unlinked.filter(isHeldOut));
  const status = judge(heldOut);
  if (status === 'contradicted' || isMostlyLinked(unlinked.length, pairs.length)) return undefined;
  const error = 1 / Math.sqrt(Math.max(1, all.independentCount));
  const raw = all.count === 0 ? 0 : Math.log(all.count / all.expected);
  const weight = LEVEL_SPREAD ** 2 / (LEVEL_SPREAD ** 2 + error ** 2);
  return {
    log_level: weight * raw,
    log_level_error: Math.sqrt(weight) * error,
    level: cardOf(all),
    holdout: {
      ...cardOf(heldOut),
      status,
      kolmogorov_smirnov: heldOut.distance,
      independent_count: heldOut.independentCount,
    },
  };
}

/** Returns whether most pairs are linked, as in a database of one family, or of proteins unlike natural ones. */
function isMostlyLinked(unlinkedCount: number, pairCount: number): boolean {
  return pairCount >= FEWEST_PAIRS && unlinkedCount < LEAST_UNLINKED_SHARE * pairCount;
}

function judge(heldOut: Exceedances): HoldoutStatus | 'contradicted' {
  if (heldOut.count < FEWEST_HOLDOUT_EXCEEDANCES) return 'too_few';
  const limit = LARGEST_DISTANCE + chanceDistance(heldOut.independentCount);
  return heldOut.distance > limit ? 'contradicted' : 'confirmed';
}

async function scoreLevelPairs(
  access: MeasureAccess,
  plan: LevelPairs,
  { moments, hubnesses, repeatShares }: TargetCovariates,
  { pairNull, promiscuity, classBias, repeats, bins, card }: ReferenceNull,
  onPairs: (done: number) => void,
): Promise<readonly LevelPair[]> {
  const { release, reader, backend, store, checkpoints, signal, threads } = access;
  const form = momentForm(release.manifest);
  const { proteins, partnerCount } = plan;
  const covariates = Array.from(proteins, (target): NullProtein => ({
    length: release.targets.length(target),
    hubness: hubnesses.of(target),
    promiscuity: targetMomentSum(promiscuity, moments, target),
    classBias: targetClassBias(classBias, moments, target),
    repeatShare: repeatShares?.[target] ?? 0,
    composition: compositionOf(release.targets.sequence(target)),
  }));
  const stratumAt = covariates.map(({ length }) => stratumOf(length, card.stratum_edges));
  const pairs: LevelPair[] = [];
  await runPhase(checkpoints, {
    name: 'pairs',
    inputs: null,
    stepCount: partnerCount === 0 ? 0 : proteins.length,
    async step(position) {
      signal?.throwIfAborted();
      const tokens = await reader.read(proteins[position]);
      const own = projectMoments(proteinMoments(tokens, form), moments.basis, moments.rank);
      const query = {
        ...covariates[position],
        promiscuity: momentSum(promiscuity, own),
        classBias: classBiasOf(classBias, own),
      };
      const partners = partnersOf(plan, position);
      const ascending = partners.map((at) => proteins[at]).sort();
      const sequence = release.targets.sequence(proteins[position]);
      const parameters = affineParameters(release, { sequence, tokens }, ascending);
      const measures = await backend.measure(store, tokens, ascending, parameters, { signal, threads });
      const ofProfiles = await profileScores(store, tokens, ascending, backend, { signal, threads });
      const rowOf = new Map(Array.from(ascending, (target, row) => [target, row]));
      return Float64Array.from(partners, (at) => {
        const target = proteins[at];
        const row = rowOf.get(target)!;
        const sums = {
          queryToTarget: measures.queryToTarget[row],
          targetToQuery: measures.targetToQuery[row],
        };
        const { bidirectional } = maxsimDistances(
          sums,
          tokens.length,
          covariates[at].length,
          form.inverseStep,
        );
        const pair = nullPairOf(pairMoments(own, moments, target), query, covariates[at], repeats);
        const score = {
          affineScore: measures.scores[row],
          meanClosestCosine: 1 - bidirectional,
          profileScore: ofProfiles[row],
        };
        return tailCoordinate(pairNull, pair, score);
      });
    },
    take(record, position) {
      const scores = new Float64Array(record);
      partnersOf(plan, position).forEach((second, at) => {
        const bin = bins[stratumAt[position]][stratumAt[second]];
        pairs.push({ first: position, second, score: scores[at], bin });
      });
    },
    report: (steps) => onPairs(steps * partnerCount),
  });
  return pairs;
}

/** Returns the pairs that no chain of links connects. A link is a pair that fewer than one unrelated pair exceeds. */
function withoutLinks(pairs: readonly LevelPair[], { proteins }: LevelPairs): readonly LevelPair[] {
  const components = createComponents(proteins.length);
  const bound = -Math.log(Math.max(1, pairs.length));
  for (const { first, second, score, bin } of pairs) {
    if (score > bin.tail.threshold && tailLogProbability(bin.tail, score) < bound) {
      components.link(first, second);
    }
  }
  return pairs.filter(({ first, second }) => !components.isConnected(first, second));
}

/** Exceedances between the threshold of each bin and CHANCE_COORDINATE, and their comparison with the reference. */
interface Exceedances {
  readonly pairCount: number;
  readonly count: number;
  readonly expected: number;
  readonly independentCount: number;
  /** Kolmogorov–Smirnov distance of the shares of the bin's exceedances that lie below each one. */
  readonly distance: number;
}

function measureExceedances(pairs: readonly LevelPair[]): Exceedances {
  let expected = 0;
  const exceedances = pairs.filter(({ score, bin }) => {
    const { threshold } = bin.tail;
    if (threshold < CHANCE_COORDINATE) expected += massBetween(bin, threshold, CHANCE_COORDINATE);
    return score >= threshold && score < CHANCE_COORDINATE;
  });
  // Under the reference the share of its bin's exceedances below an exceedance is uniform in 0..1.
  const shares = Float64Array.from(exceedances, ({ score, bin }) => {
    const { threshold } = bin.tail;
    return massBetween(bin, threshold, score) / massBetween(bin, threshold, CHANCE_COORDINATE);
  });
  return {
    pairCount: pairs.length,
    count: exceedances.length,
    expected,
    independentCount: independentCountOf(exceedances),
    distance: kolmogorovDistance(shares, (share) => share),
  };
}

/** Returns the probability of the reference between two coordinates above the threshold. */
function massBetween({ tail }: Bin, low: number, high: number): number {
  return Math.exp(tailLogProbability(tail, low)) - Math.exp(tailLogProbability(tail, high));
}

function cardOf({ pairCount, count, expected }: Exceedances): ExceedanceCard {
  return { pair_count: pairCount, exceedance_count: count, expected_count: expected };
}
