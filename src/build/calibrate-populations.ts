import { judgeTail, stratumOf, type Bin } from '../calibration/calibration.js';
import type { BinCard, PopulationCard } from '../calibration/card.js';
import { projectMoments, tokenMoments, type ProjectedMoments } from '../calibration/moments.js';
import { tailCoordinate } from '../calibration/pair-null.js';
import { biasContribution } from '../calibration/protein-bias.js';
import { sampleDistinct, type Random } from '../calibration/random.js';
import { openBins } from '../calibration/sidecar.js';
import type { QueryTokens } from '../kernels/kernels.js';
import { maxsimDistances } from '../search/maxsim.js';
import type { BiasedSample } from './calibrate-bias.js';
import type { NullFit } from './calibrate-null.js';
import type { CalibrateOptions } from './calibrate-options.js';
import { momentsOfPair } from './calibrate-sample.js';

/** A fitted null and what it is to be held against. */
export interface Observation {
  readonly options: CalibrateOptions;
  /** Target index of each sampled protein. */
  readonly targets: Uint32Array;
  readonly sample: BiasedSample;
  readonly moments: readonly ProjectedMoments[];
  readonly basis: { readonly rank: number; readonly basis: Float32Array };
  readonly fit: NullFit;
  readonly bins: readonly BinCard[];
  readonly edges: readonly number[];
  readonly random: Random;
}

/** Tail probabilities at which observed and expected counts are compared. */
const PROBABILITIES: readonly number[] = [1e-1, 1e-2, 1e-3, 1e-4];
/** Proteins whose reversed and shuffled sequences are scored against the whole sample. */
const DECOYS = 64;

/**
 * How often populations that the null was not fitted to reach its tail: held-out proteins, and the decoys that other
 * tools calibrate on. Decoys that stay far below 1 are why this null is made of real proteins.
 */
export async function observePopulations(observation: Observation): Promise<readonly PopulationCard[]> {
  const { options, targets, random } = observation;
  const chosen = sampleDistinct(targets.length, DECOYS, random);
  const sequences = Array.from(chosen, (index) => options.release.targets.sequence(targets[index]));
  const reversed = sequences.map((sequence) => [...sequence].reverse().join(''));
  const shuffled = sequences.map((sequence) => shuffle(sequence, random));
  return [
    observeHoldout(observation),
    await observeDecoys('reversed_sequences/1', reversed, observation),
    await observeDecoys('shuffled_sequences/1', shuffled, observation),
  ];
}

function observeHoldout({ sample, fit, bins, edges }: Observation): PopulationCard {
  const opened = openBins(bins, edges);
  const counter = createCounter('heldout_release_pairs/1', opened, edges);
  for (const pair of sample.holdoutPairs) {
    if (fit.isConnected(pair)) continue;
    const { queryLength, targetLength } = sample.shapeAt(pair);
    counter.add(queryLength, targetLength, fit.coordinates[pair]);
  }
  return counter.card();
}

async function observeDecoys(
  id: string,
  sequences: readonly string[],
  { options, targets, sample, moments, basis, fit, bins, edges }: Observation,
): Promise<PopulationCard> {
  const { encoder, backend, store, release, signal, threads } = options;
  const counter = createCounter(id, openBins(bins, edges), edges);
  for (const sequence of sequences) {
    const [tokens] = await encoder.encode([sequence], { signal });
    const affine = await backend.affineScores(store, tokens, targets, release.affine, { signal, threads });
    const [sums] = await backend.maxsim(store, [tokens], targets, { signal, threads });
    const decoy = projectMoments(momentsOf(tokens, options), basis.basis, basis.rank);
    const shapes = moments.map((moment, index) => ({
      queryLength: tokens.length,
      targetLength: sample.lengths[index],
      ...momentsOfPair(decoy, moment),
    }));
    const closeness = shapes.map(({ targetLength }, index) => {
      const found = { queryToTarget: sums.queryToTarget[index], targetToQuery: sums.targetToQuery[index] };
      const { inverse_step: inverseStep } = release.manifest.encoder;
      return 1 - maxsimDistances(found, tokens.length, targetLength, inverseStep).bidirectional;
    });
    const contributions = Array.from(sample.panel, (member) =>
      biasContribution(sample.bias, fit.pairNull.shape, shapes[member], closeness[member]),
    );
    const queryBias = contributions.reduce((sum, value) => sum + value, 0) / contributions.length;
    shapes.forEach((shape, index) => {
      const pair = { ...shape, queryBias, targetBias: sample.biases[index] };
      const score = { affineScore: affine[index], closeness: closeness[index] };
      counter.add(shape.queryLength, shape.targetLength, tailCoordinate(fit.pairNull, pair, score));
    });
  }
  return counter.card();
}

function momentsOf(
  { values, length }: QueryTokens,
  { release }: CalibrateOptions,
): ReturnType<typeof tokenMoments> {
  const { dimension, inverse_step: inverseStep } = release.manifest.encoder;
  return tokenMoments(values, length, dimension, inverseStep);
}

interface Counter {
  add(queryLength: number, targetLength: number, coordinate: number): void;
  card(): PopulationCard;
}

function createCounter(id: string, bins: readonly (readonly Bin[])[], edges: readonly number[]): Counter {
  let pairCount = 0;
  const observed = PROBABILITIES.map(() => 0);
  return {
    add(queryLength, targetLength, coordinate) {
      const bin = bins[stratumOf(queryLength, edges)][stratumOf(targetLength, edges)];
      const { logProbability } = judgeTail(bin, coordinate, Infinity);
      pairCount += 1;
      PROBABILITIES.forEach((probability, index) => {
        if (logProbability <= Math.log(probability)) observed[index] += 1;
      });
    },
    card: () => ({
      id,
      pair_count: pairCount,
      ratios: PROBABILITIES.map((probability, index) => ({
        probability,
        expected: probability * pairCount,
        observed: observed[index],
      })),
    }),
  };
}

/** Source: Fisher & Yates 1938. */
function shuffle(sequence: string, random: Random): string {
  const letters = [...sequence];
  for (let last = letters.length - 1; last > 0; last -= 1) {
    const pick = random.below(last + 1);
    [letters[last], letters[pick]] = [letters[pick], letters[last]];
  }
  return letters.join('');
}
