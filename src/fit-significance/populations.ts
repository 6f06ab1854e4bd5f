import { judgeTail, stratumOf, type Bin } from '../significance/calibration.js';
import { MAXIMUM_LOG_EXTRAPOLATION, type BinCard, type PopulationCard } from '../significance/card.js';
import { sampleDistinct, shuffled, type Random } from '../random.js';
import { reversed } from '../significance/control.js';
import { openBins } from '../significance/sidecar.js';
import { eachDecoy, type DecoyScoring } from './decoys.js';

/** A fitted null with its bins. */
export interface Observation {
  readonly decoys: DecoyScoring;
  readonly bins: readonly BinCard[];
  readonly edges: readonly number[];
  readonly random: Random;
}

/** Tail probabilities at which observed and expected counts are compared. */
const PROBABILITIES: readonly number[] = [1e-1, 1e-2, 1e-3, 1e-4];
/** Number of proteins whose reversed and shuffled sequences are scored against the whole sample. */
const DECOYS = 64;
/** Returns the number of decoys, reversed and shuffled. */
export const decoyCountOf = (sampleCount: number): number => 2 * Math.min(DECOYS, sampleCount);

/**
 * Counts how often populations that the fit has not used reach the tail: pairs of held-out proteins, reversed decoys
 * and shuffled decoys. Other tools calibrate on such decoys. Their observed counts lie far below the expected ones,
 * which is why this null is fitted to real proteins.
 * Errors  those of `eachDecoy`
 */
export async function observePopulations(observation: Observation): Promise<readonly PopulationCard[]> {
  const { random } = observation;
  const { access, targets } = observation.decoys;
  const chosen = sampleDistinct(targets.length, DECOYS, random);
  const sequences = Array.from(chosen, (index) => access.release.targets.sequence(targets[index]));
  const reordered = sequences.map((sequence) => shuffled([...sequence], random).join(''));
  return [
    observeHoldout(observation),
    await observeDecoys('reversed_sequences/1', sequences.map(reversed), 0, observation),
    await observeDecoys('shuffled_sequences/1', reordered, sequences.length, observation),
  ];
}

function observeHoldout({ decoys, bins, edges }: Observation): PopulationCard {
  const { sample, fit } = decoys;
  const opened = openBins(bins, edges);
  const counter = createCounter('heldout_release_pairs/1', opened, edges);
  for (const pair of sample.holdoutPairs) {
    if (fit.isConnected(pair)) continue;
    const { queryLength, targetLength } = sample.shapeAt(pair);
    counter.add(queryLength, targetLength, fit.coordinates[pair]);
  }
  return counter.card();
}

/** @param before  number of decoys of earlier populations, for progress */
async function observeDecoys(
  id: string,
  sequences: readonly string[],
  before: number,
  { decoys, bins, edges }: Observation,
): Promise<PopulationCard> {
  const { sample } = decoys;
  const counter = createCounter(id, openBins(bins, edges), edges);
  const take = (coordinates: Float64Array, at: number): void =>
    coordinates.forEach((coordinate, index) => {
      counter.add(sequences[at].length, sample.lengths[index], coordinate);
    });
  const report = (done: number): void => decoys.report('decoys', before + done);
  await eachDecoy(id.replace('/', '-'), sequences, decoys, take, report);
  return counter.card();
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
      const { logProbability } = judgeTail(bin, coordinate, MAXIMUM_LOG_EXTRAPOLATION);
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
