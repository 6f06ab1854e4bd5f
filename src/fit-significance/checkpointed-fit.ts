import { canonicalSha256 } from '../canonical.js';
import { assert } from '../errors.js';
import type { SeededRandom } from '../random.js';
import type { NullFit } from './null.js';
import type { NullSample } from './sample.js';
import { runPhase, type CheckpointFolder } from './checkpoints.js';

/** A fit with the digest that identifies it in later checkpoints. */
export interface CheckpointedFit extends NullFit {
  /** Equal digests mean equal fits. */
  readonly digest: string;
}

/** The parameters of a fit, without per-pair values, and the state of the random numbers after it. */
type FitParameters = Omit<NullFit, 'coordinates' | 'isConnected' | 'areConnected'> & {
  readonly place: readonly number[];
};

/** Version of the JSON form of `FitParameters`. A checkpoint of another version is not resumed. */
const PARAMETERS_FORM = 4;
/** Coordinates of one step: 32 MiB. */
const STEP_PAIRS = 4 * 1024 * 1024;
/** The steps of the parameters and of the groups of connected proteins; the steps of the coordinates follow. */
const STEPS_BEFORE = 2;

/**
 * Restores the fit from its checkpoint, or makes and stores it. In both cases the random numbers continue after it.
 * @param inputs  a JSON value of everything that the fit depends on beside the pairs
 * Errors  those of `fitNull` and of the file system
 */
export async function checkpointFit(
  checkpoints: CheckpointFolder,
  inputs: unknown,
  sample: NullSample,
  random: SeededRandom,
  fitNull: () => NullFit,
): Promise<CheckpointedFit> {
  const { proteinCount, pairCount, firsts, seconds } = sample;
  const coordinates = new Float64Array(pairCount);
  let parameters: FitParameters | undefined;
  let groups = new Uint32Array(0);
  let newFit: NullFit | undefined;
  const fitted = (): NullFit => (newFit ??= fitNull());
  await runPhase(checkpoints, {
    name: 'fit',
    inputs: { inputs, form: PARAMETERS_FORM },
    stepCount: STEPS_BEFORE + Math.ceil(pairCount / STEP_PAIRS),
    step(index) {
      const fit = fitted();
      if (index === 0) return parametersRecord(fit, random);
      if (index === 1) return groupsOf(proteinCount, fit);
      const start = (index - STEPS_BEFORE) * STEP_PAIRS;
      return fit.coordinates.subarray(start, start + STEP_PAIRS);
    },
    take(record, index) {
      if (index === 0) parameters = JSON.parse(Buffer.from(record).toString()) as FitParameters;
      else if (index === 1) groups = new Uint32Array(record);
      else coordinates.set(new Float64Array(record), (index - STEPS_BEFORE) * STEP_PAIRS);
    },
  });
  assert(parameters !== undefined, 'runPhase passes the record of step 0 to take');
  const { place, ...rest } = parameters;
  random.goTo(Uint32Array.from(place));
  const areConnected = (a: number, b: number): boolean => groups[a] === groups[b];
  return {
    ...rest,
    digest: canonicalSha256({ figures: parameters, inputs }),
    coordinates,
    areConnected,
    isConnected: (pair) => areConnected(firsts[pair], seconds[pair]),
  };
}

function parametersRecord(fit: NullFit, random: SeededRandom): Uint8Array {
  const { pairNull, promiscuity, linkCount, linkLogProbability, connectedPairCount, largestComponent } = fit;
  const parameters: FitParameters = {
    pairNull,
    promiscuity,
    linkCount,
    linkLogProbability,
    connectedPairCount,
    largestComponent,
    place: Array.from(random.place()),
  };
  return Buffer.from(JSON.stringify(parameters));
}

/** Returns the group of each protein, as the smallest index of a protein that is connected with it. */
function groupsOf(count: number, { areConnected }: NullFit): Uint32Array {
  const firsts: number[] = [];
  return Uint32Array.from({ length: count }, (_, protein) => {
    const group = firsts.find((first) => areConnected(first, protein));
    if (group === undefined) firsts.push(protein);
    return group ?? protein;
  });
}
