import { canonicalSha256 } from '../canonical.js';
import { assert } from '../errors.js';
import type { SeededRandom } from '../random.js';
import type { NullFit } from './null.js';
import type { NullSample } from './sample.js';
import { runPhase, type Workplace } from './checkpoints.js';

/** A fit that later phases rest on. */
export interface CheckpointedFit extends NullFit {
  /** Equal digests are equal fits. */
  readonly digest: string;
}

/** What of a fit is not an array, and where the random numbers are behind it. */
type Figures = Omit<NullFit, 'coordinates' | 'isConnected' | 'areConnected'> & {
  readonly place: readonly number[];
};

/** Member names of `Figures` as JSON. A checkpoint of another form is not resumed, and its phase starts again. */
const FIGURES_FORM = 2;
/** Coordinates of one step: 32 MiB. */
const STEP_PAIRS = 4 * 1024 * 1024;
/** Figures, groups of relatives; then come coordinates. */
const STEPS_BEFORE = 2;

/**
 * The fit that the work has, or a new one. Either way the random numbers go on behind it.
 * @param inputs  what the fit depends on beside the pairs
 * Errors  those of the fit
 */
export async function checkpointFit(
  work: Workplace,
  inputs: unknown,
  sample: NullSample,
  random: SeededRandom,
  fitNull: () => NullFit,
): Promise<CheckpointedFit> {
  const { proteinCount, pairCount, firsts, seconds } = sample;
  const coordinates = new Float64Array(pairCount);
  let figures: Figures | undefined;
  let groups = new Uint32Array(0);
  let made: NullFit | undefined;
  const fitted = (): NullFit => (made ??= fitNull());
  await runPhase(work, {
    name: 'fit',
    inputs: { inputs, form: FIGURES_FORM },
    stepCount: STEPS_BEFORE + Math.ceil(pairCount / STEP_PAIRS),
    step(index) {
      const fit = fitted();
      if (index === 0) return figuresRecord(fit, random);
      if (index === 1) return groupsOf(proteinCount, fit);
      const start = (index - STEPS_BEFORE) * STEP_PAIRS;
      return fit.coordinates.subarray(start, start + STEP_PAIRS);
    },
    take(record, index) {
      if (index === 0) figures = JSON.parse(Buffer.from(record).toString()) as Figures;
      else if (index === 1) groups = new Uint32Array(record);
      else coordinates.set(new Float64Array(record), (index - STEPS_BEFORE) * STEP_PAIRS);
    },
  });
  assert(figures !== undefined, 'the first step was taken');
  const { place, ...rest } = figures;
  random.goTo(Uint32Array.from(place));
  const areConnected = (a: number, b: number): boolean => groups[a] === groups[b];
  return {
    ...rest,
    digest: canonicalSha256({ figures, inputs }),
    coordinates,
    areConnected,
    isConnected: (pair) => areConnected(firsts[pair], seconds[pair]),
  };
}

function figuresRecord(fit: NullFit, random: SeededRandom): Uint8Array {
  const { pairNull, linkCount, linkLogProbability, connectedPairCount, largestComponent } = fit;
  const figures: Figures = {
    pairNull,
    linkCount,
    linkLogProbability,
    connectedPairCount,
    largestComponent,
    place: Array.from(random.place()),
  };
  return Buffer.from(JSON.stringify(figures));
}

/** The first protein that each is connected with. */
function groupsOf(count: number, { areConnected }: NullFit): Uint32Array {
  const firsts: number[] = [];
  return Uint32Array.from({ length: count }, (_, protein) => {
    const known = firsts.find((first) => areConnected(first, protein));
    if (known === undefined) firsts.push(protein);
    return known ?? protein;
  });
}
