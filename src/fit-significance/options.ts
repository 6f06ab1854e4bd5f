import type { KernelBackend, TokenStore } from '../kernels/kernels.js';
import type { Release } from '../release/release.js';
import type { Encoder } from '../encoder/encoder.js';

export interface CalibrateOptions {
  readonly release: Release;
  readonly backend: KernelBackend;
  readonly store: TokenStore;
  /** Encodes the reversed and shuffled sequences of the second, reported population. */
  readonly encoder: Encoder;
  /** 1..2³²−1; the same seed gives the same calibration to the bit. */
  readonly seed?: number;
  /** Proteins whose pairs are scored; 2..65,535. More take quadratically longer and resolve smaller probabilities. */
  readonly sampleCount?: number;
  /** Known relatives (cluster, family) by target id: proteins with one label are left out as pairs. */
  readonly labels?: ReadonlyMap<string, string>;
  readonly threads?: number;
  readonly signal?: AbortSignal;
  /** Told once of all that is going to be done. */
  readonly onPlan?: (phases: readonly CalibratePhase[]) => void;
  readonly onProgress?: (progress: CalibrateProgress) => void;
}

/** A part of the work. */
export interface CalibratePhase {
  readonly name: 'pairs' | 'controls' | 'reversed' | 'decoys' | 'moments' | 'panel';
  /** Pairs, proteins or searches. */
  readonly count: number;
  /** All of it, in pairs that would take as long. */
  readonly weight: number;
}

/** How far all phases together are, in pairs that would take as long. */
export interface CalibrateProgress {
  readonly stage: 'calibrate';
  readonly phase: CalibratePhase['name'];
  readonly done: number;
  readonly total: number;
}

type PhaseName = CalibratePhase['name'];

/** What one unit of a phase takes, in pairs: measured with 4,000 proteins of 380 residues in the mean. */
const PAIRS_PER_CONTROL = 260;
const PAIRS_PER_MOMENTS = 2;
const PAIRS_PER_COMPARISON = 0.7;

/** What a calibration is going to do. */
interface Extent {
  readonly sampleCount: number;
  readonly targetCount: number;
  /** Reversed proteins that a small sample needs beside it; 0 for others. */
  readonly reversedCount: number;
  readonly decoyCount: number;
  readonly referenceSetCount: number;
}

/** The phases in their order, with their units and what each takes of the whole. */
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

/** Tells of all phases as of one piece of work. @returns how many units of a phase are done → told */
export function phaseMeter(
  phases: readonly CalibratePhase[],
  onProgress: ((progress: CalibrateProgress) => void) | undefined,
): (name: PhaseName, done: number) => void {
  const total = Math.round(phases.reduce((sum, { weight }) => sum + weight, 0));
  return (name, done) => {
    const at = phases.findIndex((phase) => phase.name === name);
    const phase = phases.at(at);
    if (at === -1 || phase === undefined) return;
    const before = phases.slice(0, at).reduce((sum, { weight }) => sum + weight, 0);
    const reached = Math.round(before + (phase.weight * done) / phase.count);
    onProgress?.({ stage: 'calibrate', phase: name, done: Math.min(reached, total), total });
  };
}
