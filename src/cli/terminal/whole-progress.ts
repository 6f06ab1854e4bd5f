import type { ExpectedStage } from '../../pipelines/estimate.js';
import type { PipelineStage } from '../../pipelines/events/progress.js';
import {
  BAR_CELLS,
  columnsOf,
  createMeter,
  DRAW_INTERVAL_MS,
  formatDuration,
  LINE_INTERVAL_MS,
  TICK_INTERVAL_MS,
  type Meter,
  type Progress,
  type ProgressState,
  type ProgressStream,
} from './progress.js';

/** Work of several stages. */
export interface WholeWork {
  /** "Building mylab". */
  readonly label: string;
  readonly stages: readonly ExpectedStage[];
  /** Receives the measured time of each whole stage. Unit: units of the stage, ms */
  readonly onStage?: (stage: PipelineStage, units: number, ms: number) => void;
  /** Stages with the numbers of this input, once a stage has told them. */
  readonly refine?: (state: ProgressState) => readonly ExpectedStage[] | undefined;
}

/** Names of the stages within a bar. Hashing and reading are too short for names of their own. */
const NAMES: Readonly<Partial<Record<ProgressState['stage'], string>>> = {
  digest: 'reading',
  read: 'reading',
  reuse: 'reusing earlier tokens',
  encode: 'encoding',
  compare: 'encoding on the cluster',
  write: 'writing',
  calibrate: 'calibrating for E-values',
  codebook: 'making the codebook',
  qualify: 'measuring the fast policy',
};
/**
 * Weight of the expected pace of a stage against its own. A stage that starts slowly hardly changes the estimate.
 * Unit: ms
 */
const PRIOR_MS = 5_000;
/** Time from which an estimate is shown. Unit: ms */
const SHOWN_FROM_MS = 1_000;

/**
 * Shows several stages as one piece of work: one bar with the name of the stage and the time left of all stages. The
 * pace of a stage is that of its own units, and later stages are expected to be as much faster or slower than planned
 * as those before. Units that an earlier run had done count as done, and not as pace.
 */
export function createWholeProgress(
  stream: ProgressStream,
  work: WholeWork,
  now: () => number = () => performance.now(),
): Progress {
  const isTerminal = stream.isTTY === true;
  const estimate = createEstimate(work, now);
  let meter: Meter | undefined;
  let shownAtMs = isTerminal ? -Infinity : now();
  let isDrawn = false;

  const show = (text: string): void => {
    shownAtMs = now();
    isDrawn = isTerminal;
    stream.write(isTerminal ? `\r${text}\x1b[K` : `${text}\n`);
  };
  const draw = (intervalMs: number): void => {
    if (now() - shownAtMs < (isTerminal ? intervalMs : LINE_INTERVAL_MS)) return;
    const { share, leftMs, stage } = estimate.state();
    const percent = `${Math.floor(100 * share)} %`;
    const amount = meter !== undefined && meter.stage === stage ? ` ${meter.amount()}` : '';
    const left = leftMs === undefined ? '' : `, ${formatDuration(leftMs)} left`;
    const text = `${NAMES[stage] ?? stage}${amount}${left}`;
    if (!isTerminal) return show(`${work.label}: ${percent}, ${text}`);
    const filled = Math.floor(BAR_CELLS * share);
    const cells = `${'█'.repeat(filled)}${'░'.repeat(BAR_CELLS - filled)}`;
    const line = `${work.label}  ${cells} ${percent.padStart(5)}  ${text}`;
    const columns = columnsOf(stream);
    // A line that wraps cannot be redrawn.
    show(line.length < columns ? line : `${percent} ${text}`.slice(0, columns - 1));
  };
  const endStage = (): void => {
    if (meter === undefined) return;
    if (meter.isComplete() && !isTerminal) show(meter.summary());
    meter = undefined;
  };
  return {
    update(state) {
      if (meter?.stage !== state.stage) {
        endStage();
        meter = createMeter(state, now);
      }
      meter.add(state);
      estimate.add(state);
      draw(DRAW_INTERVAL_MS);
    },
    tick: () => draw(TICK_INTERVAL_MS),
    end() {
      endStage();
      if (isDrawn) stream.write('\n');
      isDrawn = false;
      if (isTerminal) shownAtMs = -Infinity;
    },
  };
}

interface Estimate {
  add(state: ProgressState): void;
  state(): {
    readonly share: number;
    readonly leftMs: number | undefined;
    readonly stage: ProgressState['stage'];
  };
}

/** Observed state of one stage. Times in ms; units of the stage. */
interface Observed {
  readonly startMs: number;
  readonly total: number;
  /** Units that an earlier run had done. */
  resumed: number;
  done: number;
  endMs?: number;
}

function createEstimate({ stages: planned, refine, onStage }: WholeWork, now: () => number): Estimate {
  let stages = planned;
  let observed = new Map<ProgressState['stage'], Observed>();
  let current: ProgressState['stage'] = planned[0]?.stage ?? 'read';
  /** Largest share given in the current stage. A stage that becomes slower changes the time left alone. */
  let leastShare = 0;
  const startMs = now();
  const plannedMs = (stage: ProgressState['stage']): number =>
    stages.find((each) => each.stage === stage)?.ms ?? 0;

  /** Time left of a started stage by its own pace, to which the planned pace adds PRIOR_MS. */
  const leftOf = (
    stage: ProgressState['stage'],
    { total, done, resumed, startMs: from }: Observed,
    pace: number,
  ): number => {
    if (done >= total) return 0;
    const plannedUnitMs = (plannedMs(stage) * pace) / total;
    const priorUnits = plannedUnitMs > 0 ? PRIOR_MS / plannedUnitMs : 0;
    const elapsedMs = now() - from + (priorUnits > 0 ? PRIOR_MS : 0);
    const units = done - resumed + priorUnits;
    return units > 0 ? ((total - done) * elapsedMs) / units : Infinity;
  };
  /** How much longer finished stages took than planned. */
  const paceOf = (): number => {
    let tookMs = PRIOR_MS;
    let expectedMs = PRIOR_MS;
    for (const [stage, { endMs, startMs: from, total, done, resumed }] of observed) {
      const share = (done - resumed) / Math.max(1, total);
      tookMs += (endMs ?? now()) - from;
      expectedMs += plannedMs(stage) * share;
    }
    return tookMs / Math.max(1, expectedMs);
  };
  const finish = (stage: ProgressState['stage'], each: Observed): void => {
    if (each.endMs !== undefined || each.done < each.total) return;
    each.endMs = now();
    if (each.resumed === 0) onStage?.(stage as PipelineStage, each.total, each.endMs - each.startMs);
  };
  return {
    add(state) {
      const { stage, done, total, isResumed } = state;
      stages = refine?.(state) ?? stages;
      const at = stages.findIndex((each) => each.stage === stage);
      const before = stages.findIndex((each) => each.stage === current);
      // The proteins are built again, with homologs that the first release has found.
      if (at >= 0 && at < before) observed = new Map([...observed].filter(([each]) => each === 'digest'));
      if (stage !== current) leastShare = 0;
      current = stage;
      const each = observed.get(stage) ?? { startMs: now(), total, resumed: done, done };
      if (isResumed === true) each.resumed += done - each.done;
      each.done = done;
      observed.set(stage, each);
      finish(stage, each);
    },
    state() {
      const pace = paceOf();
      const at = stages.findIndex((each) => each.stage === current);
      const isBetween = observed.get(current)?.endMs !== undefined;
      const later = stages.filter((_, index) => index > at).reduce((sum, { ms }) => sum + ms, 0);
      const here = observed.get(current);
      const leftMs = (here === undefined ? 0 : leftOf(current, here, pace)) + later * pace;
      const doneMs = stages.filter((_, index) => index < at).reduce((sum, { ms }) => sum + ms, 0) * pace;
      const hereMs =
        here === undefined ? 0 : plannedMs(current) * pace * (here.total === 0 ? 1 : here.done / here.total);
      const share = Math.min(0.99, (doneMs + hereMs) / Math.max(1, doneMs + hereMs + leftMs));
      if (Number.isFinite(share)) leastShare = Math.max(leastShare, share);
      if (at === stages.length - 1 && isBetween) return { share: 1, leftMs: 0, stage: current };
      const isShown = now() - startMs >= SHOWN_FROM_MS && Number.isFinite(leftMs);
      const next = isBetween ? (stages[at + 1]?.stage ?? current) : current;
      return { share: leastShare, leftMs: isShown ? leftMs : undefined, stage: next };
    },
  };
}
