import { CHANCE_COORDINATE, controlledCoordinate } from '../significance/control.js';
import { controlCoordinate } from '../significance/pair-null.js';
import { controlScores } from '../search/control.js';
import type { HubnessSample } from './hubness.js';
import type { NullFit } from './null.js';
import type { CalibrationAccess } from './options.js';
import { pairStart } from './pairs.js';
import type { CheckpointedFit } from './checkpointed-fit.js';
import { runPhase } from './checkpoints.js';

/**
 * Corrects the coordinates of high-scoring pairs by their reversed-query controls, as a search does. Pairs that links
 * connect stay unchanged, because no tail is fitted to them.
 * Shape   targets [sample.proteinCount]
 * Unit    target indices; coordinates are tail coordinates
 * Range   0..targets of the release − 1, ascending
 * Errors  Fault of encoder, kernels or token file; the signal's reason between two proteins; those of the file system
 * Cost    one alignment for each such pair, and one encoding for each protein with such a pair
 */
export async function controlPairs(
  access: CalibrationAccess,
  targets: Uint32Array,
  sample: HubnessSample,
  fit: CheckpointedFit,
  onProtein: (done: number) => void,
): Promise<CheckpointedFit> {
  const { release, reader, checkpoints, signal, threads } = access;
  const coordinates = fit.coordinates.slice();
  await runPhase(checkpoints, {
    name: 'controls',
    inputs: fit.digest,
    stepCount: targets.length,
    async step(first) {
      signal?.throwIfAborted();
      const highScoring = highScoringPairs(first, targets.length, fit);
      if (highScoring.length === 0) return new Int32Array(0);
      const target = targets[first];
      const query = { sequence: release.targets.sequence(target), tokens: await reader.read(target) };
      const others = highScoring.map((pair) => targets[sample.seconds[pair]]);
      const { affine, profile } = await controlScores(query, others, access, { signal, threads });
      return Int32Array.of(...affine, ...profile);
    },
    take(record, first) {
      const values = new Int32Array(record);
      const highScoring = highScoringPairs(first, targets.length, fit);
      highScoring.forEach((pair, at) => {
        const score = {
          affineScore: values[at],
          meanClosestCosine: sample.meanClosestCosine[pair],
          profileScore: values[highScoring.length + at],
        };
        const control = controlCoordinate(fit.pairNull, sample.pairAt(pair), score);
        coordinates[pair] = controlledCoordinate(coordinates[pair], control);
      });
    },
    report: onProtein,
  });
  return { ...fit, coordinates };
}

/** Returns the unconnected pairs of a protein with later proteins whose coordinate exceeds CHANCE_COORDINATE. */
function highScoringPairs(first: number, count: number, { coordinates, isConnected }: NullFit): Uint32Array {
  const pairs: number[] = [];
  for (let pair = pairStart(first, count); pair < pairStart(first + 1, count); pair += 1) {
    if (coordinates[pair] > CHANCE_COORDINATE && !isConnected(pair)) pairs.push(pair);
  }
  return Uint32Array.from(pairs);
}
