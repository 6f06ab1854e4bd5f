import type { KernelBackend, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import type { TokenReader } from '../release/rows/token-reader.js';
import type { Encoder } from '../encoder/encoder.js';
import type { CheckpointFolder } from './checkpoints.js';

export interface CalibrateOptions {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  /** Encodes reversed and shuffled sequences. */
  readonly encoder: Encoder;
  /** Range: 1..2³²−1; default 1. Equal seeds give bit-identical calibrations. */
  readonly seed?: number;
  /**
   * Number of proteins whose pairs are scored. Range: 2..65,535; default 4,000. The time grows with its square, and
   * more proteins resolve smaller probabilities.
   */
  readonly sampleCount?: number;
  /** Label of a group of homologs (cluster, family) by target id. Pairs with equal labels are left out of the fit. */
  readonly labels?: ReadonlyMap<string, string>;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Called once with all phases, before the first. */
  readonly onPlan?: (phases: readonly CalibratePhase[]) => void;
  readonly onProgress?: (progress: CalibrateProgress) => void;
}

/** Everything that a phase needs to read the release, to run kernels and to store checkpoints. */
export interface CalibrationAccess extends CalibrateOptions {
  readonly reader: TokenReader;
  readonly checkpoints: CheckpointFolder;
}

/** One phase of a calibration. */
export interface CalibratePhase {
  readonly name: 'pairs' | 'controls' | 'reversed' | 'decoys' | 'moments' | 'panel';
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

/** Numbers of units of a calibration. */
interface Extent {
  readonly sampleCount: number;
  readonly targetCount: number;
  /** Reversed-sequence decoys for the tail of a small sample; 0 for larger samples. */
  readonly reversedCount: number;
  readonly decoyCount: number;
  readonly referenceSetCount: number;
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
