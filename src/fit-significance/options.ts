import type { KernelBackend, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import type { Encoder } from '../encoder/encoder.js';
import type { CheckpointFolder } from './checkpoints.js';
import type { ReferenceSetDraw } from './hubness.js';

/** Everything that a measurement of a release needs. */
export interface MeasureOptions {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Called once with all phases, before the first. */
  readonly onPlan?: (phases: readonly CalibratePhase[]) => void;
  readonly onProgress?: (progress: CalibrateProgress) => void;
}

export interface CalibrateOptions extends MeasureOptions {
  /** Encodes reversed and shuffled sequences. */
  readonly encoder: Encoder;
  /** Range: 1..2³²−1; default 1. Equal seeds give bit-identical calibrations. */
  readonly seed?: number;
  /**
   * Number of proteins whose pairs are scored. Range: 2..65,535; default 4,000. The time grows with its square, and
   * more proteins resolve smaller probabilities.
   */
  readonly sampleCount?: number;
  /**
   * Label of a group of homologs (cluster, family) by target id. Pairs with equal labels are left out of the fit.
   * Default: families and clans of targets that are members of families.
   */
  readonly labels?: ReadonlyMap<string, string>;
  /** Default: 160 proteins of any length. */
  readonly referenceSet?: ReferenceSetDraw;
  /** Most length strata. Default: 4. */
  readonly maximumStrata?: number;
}

/** Access to the token file, and the folder of checkpoints. */
interface PhaseFiles {
  readonly reader: TokenReader;
  readonly checkpoints: CheckpointFolder;
}

/** Everything that a phase needs to read the release, to run kernels and to store checkpoints. */
export interface CalibrationAccess extends CalibrateOptions, PhaseFiles {}
/** The same without the encoder. */
export interface MeasureAccess extends MeasureOptions, PhaseFiles {}

/** One phase of a calibration. */
export interface CalibratePhase {
  readonly name: 'pairs' | 'controls' | 'reversed' | 'decoys' | 'moments' | 'panel' | 'repeats';
  /** Number of units: pairs, proteins or searches. */
  readonly count: number;
  /** Estimated duration of the phase. Unit: the time of one pair. */
  readonly weight: number;
}

/** Progress of all phases together. Unit: the time of one pair. */
export interface CalibrateProgress {
  readonly stage: 'calibrate';
  readonly phase: CalibratePhase['name'];
  readonly done: number;
  readonly total: number;
  /** True for the first report of a phase whose first units an earlier, interrupted run had finished. */
  readonly isResumed?: boolean;
}

type PhaseName = CalibratePhase['name'];

/** Duration of one unit of a phase in times of one pair, measured with 4,000 proteins of 380 residues on average. */
const PAIRS_PER_CONTROL = 260;
const PAIRS_PER_MOMENTS = 2;
const PAIRS_PER_COMPARISON = 0.7;
/** Half of a protein is aligned with the other half; most of the time is that of the call. */
const PAIRS_PER_REPEATS = 5;
/** A member of a reference null has some 70 residues. */
const PAIRS_PER_SHORT_COMPARISON = 0.22;

/** Numbers of units of a calibration. */
interface Extent {
  readonly sampleCount: number;
  readonly targetCount: number;
  /** Reversed-sequence decoys for the tail of a small sample; 0 for larger samples. */
  readonly reversedCount: number;
  readonly decoyCount: number;
  readonly referenceSetCount: number;
}

/** Returns the phases of a calibration by the reference null, in order. Phases without units are left out. */
export function referencePhases(extent: {
  readonly targetCount: number;
  readonly memberCount: number;
  readonly pairCount: number;
  readonly hasRepeats: boolean;
}): readonly CalibratePhase[] {
  const { targetCount, memberCount, pairCount, hasRepeats } = extent;
  const repeatCount = hasRepeats ? targetCount : 0;
  const phases: readonly CalibratePhase[] = [
    { name: 'moments', count: targetCount, weight: targetCount * PAIRS_PER_MOMENTS },
    { name: 'panel', count: memberCount, weight: memberCount * targetCount * PAIRS_PER_SHORT_COMPARISON },
    { name: 'repeats', count: repeatCount, weight: repeatCount * PAIRS_PER_REPEATS },
    { name: 'pairs', count: pairCount, weight: pairCount },
  ];
  return phases.filter(({ count }) => count > 0);
}

/** Returns the phases of a calibration in order. Phases without units are left out. */
export function calibratePhases(extent: Extent): readonly CalibratePhase[] {
  const { sampleCount, targetCount, reversedCount, decoyCount, referenceSetCount } = extent;
  const pairCount = (sampleCount * (sampleCount - 1)) / 2;
  const phase = (name: PhaseName, count: number, pairsPerUnit: number): CalibratePhase => ({
    name,
    count,
    weight: count * pairsPerUnit,
  });
  return [
    phase('pairs', pairCount, 1),
    phase('controls', sampleCount, PAIRS_PER_CONTROL),
    phase('reversed', reversedCount, sampleCount),
    phase('decoys', decoyCount, sampleCount),
    phase('moments', targetCount, PAIRS_PER_MOMENTS),
    phase('panel', referenceSetCount, targetCount * PAIRS_PER_COMPARISON),
  ].filter(({ count }) => count > 0);
}

/**
 * Combines the progress of all phases into one.
 * @returns a function that takes a phase and the number of its finished units, and reports the sum
 */
export function phaseMeter(
  phases: readonly CalibratePhase[],
  onProgress: ((progress: CalibrateProgress) => void) | undefined,
): (name: PhaseName, done: number) => void {
  const total = Math.round(phases.reduce((sum, { weight }) => sum + weight, 0));
  const started = new Set<PhaseName>();
  return (name, done) => {
    // runPhase reports the restored steps of a phase first.
    const isResumed = done > 0 && !started.has(name);
    started.add(name);
    const at = phases.findIndex((phase) => phase.name === name);
    const phase = phases.at(at);
    if (at === -1 || phase === undefined) return;
    const before = phases.slice(0, at).reduce((sum, { weight }) => sum + weight, 0);
    const reached = Math.round(before + (phase.weight * done) / phase.count);
    const progress: CalibrateProgress = {
      stage: 'calibrate',
      phase: name,
      done: Math.min(reached, total),
      total,
    };
    onProgress?.(isResumed ? { ...progress, isResumed } : progress);
  };
}
