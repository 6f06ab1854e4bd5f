import { CHANCE_COORDINATE, controlledCoordinate } from '../significance/control.js';
import { tailCoordinate } from '../significance/pair-null.js';
import { controlScores } from '../search/control.js';
import type { HubnessSample } from './hubness.js';
import type { NullFit } from './null.js';
import type { CalibrateOptions } from './options.js';
import { pairStart } from './pairs.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import type { CheckpointedFit } from './checkpointed-fit.js';
import { runPhase, type Workplace } from './checkpoints.js';

/**
 * The fit with the coordinates of striking pairs after their controls, as a search finds them; pairs of relatives,
 * which nothing is fitted to, stay as they are.
 * Errors  Fault of encoder or kernels; the signal's reason between two proteins
 * Cost    an alignment for each such pair and, without relatives, one encoding of each protein that is struck
 */
export async function controlPairs(
  options: CalibrateOptions,
  targets: Uint32Array,
  reader: TokenReader,
  sample: HubnessSample,
  fit: CheckpointedFit,
  work: Workplace,
  onProtein: (done: number) => void,
): Promise<CheckpointedFit> {
  const { release, signal, threads } = options;
  const coordinates = fit.coordinates.slice();
  await runPhase(work, {
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
      return controlScores(query, others, options, { signal, threads });
    },
    take(record, first) {
      const found = new Int32Array(record);
      highScoringPairs(first, targets.length, fit).forEach((pair, at) => {
        const score = { affineScore: found[at], meanClosestCosine: sample.meanClosestCosine[pair] };
        const control = tailCoordinate(fit.pairNull, sample.pairAt(pair), score);
        coordinates[pair] = controlledCoordinate(coordinates[pair], control);
      });
    },
    report: onProtein,
  });
  return { ...fit, coordinates };
}

/** Pairs of one protein with later ones that no chain of relatives connects and that chance hardly explains. */
function highScoringPairs(first: number, count: number, { coordinates, isConnected }: NullFit): Uint32Array {
  const pairs: number[] = [];
  for (let pair = pairStart(first, count); pair < pairStart(first + 1, count); pair += 1) {
    if (coordinates[pair] > CHANCE_COORDINATE && !isConnected(pair)) pairs.push(pair);
  }
  return Uint32Array.from(pairs);
}
