import type {
  PipelineStage,
  ProgressState as StageState,
  TaskProgress,
} from '../../pipelines/events/progress.js';

/** State of a stage of a pipeline or of another command. */
export type ProgressState = StageState<ProgressStage>;

/** Progress as text for people. */
export interface ProgressWords extends Omit<ProgressState, 'stage'> {
  readonly stage: string;
  readonly unit: string;
}

export type ProgressStage = keyof typeof STAGES;

export interface Progress {
  readonly update: (state: ProgressState) => void;
  /** Shows the present state again where nothing was shown for a time, so that silent work is seen to go on. */
  tick(): void;
  /** Ends the line that is drawn, so that the next output starts on its own line. */
  end(): void;
}

export interface ProgressStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

interface StageWords {
  readonly label: string;
  readonly unit: string;
  /** The singular of the unit, where one is shown. */
  readonly one?: string;
}

const STAGES = {
  digest: { label: 'Hashing input', unit: 'B' },
  read: { label: 'Reading', unit: 'B' },
  reuse: { label: 'Checking earlier tokens', unit: 'B' },
  encode: { label: 'Encoding', unit: 'residues' },
  write: { label: 'Writing', unit: 'proteins' },
  // All work of a calibration is counted in pairs that would take as long.
  calibrate: { label: 'Calibrating', unit: 'pairs' },
  codebook: { label: 'Making the codebook', unit: 'residues' },
  qualify: { label: 'Qualifying', unit: 'queries', one: 'query' },
  verify: { label: 'Verifying', unit: 'B' },
  restore: { label: 'Restoring', unit: 'B' },
  search: { label: 'Searching', unit: 'queries', one: 'query' },
  // A unit is one chunk of queries with one partition of the targets.
  compare: { label: 'Comparing', unit: 'parts', one: 'part' },
  export: { label: 'Exporting', unit: 'rows', one: 'row' },
  align: { label: 'Aligning', unit: 'alignments', one: 'alignment' },
  predict: { label: 'Predicting', unit: 'structures', one: 'structure' },
  download: { label: 'Downloading', unit: 'B' },
} as const satisfies Readonly<Record<string, StageWords> & Record<PipelineStage, StageWords>>;

export const DRAW_INTERVAL_MS = 100;
export const TICK_INTERVAL_MS = 1_000;
export const LINE_INTERVAL_MS = 10_000;
const USUAL_COLUMNS = 80;
/** The rate covers the last half minute, so that the time left follows a change of pace. */
const RATE_SPAN_MS = 30_000;
export const BAR_CELLS = 24;

/**
 * Shows progress: one line that is redrawn on a terminal; otherwise a line every ten seconds and at the end of each
 * stage. `now` gives monotonic milliseconds.
 */
export function createProgress(
  stream: ProgressStream,
  now: () => number = () => performance.now(),
): Progress {
  const isTerminal = stream.isTTY === true;
  let meter: Meter | undefined;
  let shownAtMs = 0;

  const show = (text: string): void => {
    shownAtMs = now();
    stream.write(isTerminal ? `\r${text}\x1b[K` : `${text}\n`);
  };
  const draw = (intervalMs: number): void => {
    if (meter === undefined || now() - shownAtMs < (isTerminal ? intervalMs : LINE_INTERVAL_MS)) return;
    show(isTerminal ? meter.bar(columnsOf(stream)) : meter.line());
  };
  const end = (): void => {
    if (meter === undefined) return;
    if (meter.isComplete()) show(meter.summary());
    if (isTerminal) stream.write('\n');
    meter = undefined;
  };
  return {
    update(state) {
      if (meter?.stage !== state.stage) {
        end();
        meter = createMeter(state, now);
        shownAtMs = isTerminal ? -Infinity : now();
      }
      meter.add(state);
      draw(DRAW_INTERVAL_MS);
    },
    tick: () => draw(TICK_INTERVAL_MS),
    end,
  };
}

/** Width of a line. A terminal that does not know its width reports 0. */
export function columnsOf({ columns }: ProgressStream): number {
  return columns === undefined || columns <= 0 ? USUAL_COLUMNS : columns;
}

/** Text of one stage. */
export interface Meter {
  readonly stage: ProgressStage;
  add(state: ProgressState): void;
  isComplete(): boolean;
  /** "11.5 M of 20.0 M residues". */
  amount(): string;
  bar(columns: number): string;
  line(): string;
  summary(): string;
}

export function createMeter(first: ProgressState, now: () => number): Meter {
  const { label, unit } = STAGES[first.stage];
  const startMs = now();
  let { done, total, tasks } = first;
  let samples = [{ atMs: startMs, done }];
  let resumed = first.done;

  const currentRate = (): number | undefined => {
    const { atMs, done: before } = samples[0];
    return now() - atMs < 500 || done === before ? undefined : ((done - before) * 1000) / (now() - atMs);
  };
  const percent = (): string => `${total === 0 ? 100 : Math.floor((100 * done) / total)} %`;
  const pace = (): string => {
    const perSecond = currentRate();
    if (perSecond === undefined) return '';
    return `, ${formatRate(perSecond, unit)}, ${formatDuration((1000 * (total - done)) / perSecond)} left`;
  };
  const amount = (): string =>
    `${formatCount(done)} of ${formatQuantity(total, unit)}${tasks === undefined ? '' : describeTasks(tasks)}`;
  return {
    stage: first.stage,
    add(state) {
      if (state.isResumed === true) {
        resumed += state.done - done;
        samples = [{ atMs: now(), done: state.done }];
      }
      ({ done, total, tasks } = state);
      if (now() - samples[samples.length - 1].atMs < 1000) return;
      samples.push({ atMs: now(), done });
      while (samples.length > 2 && now() - samples[0].atMs > RATE_SPAN_MS) samples.shift();
    },
    isComplete: () => done >= total,
    amount,
    bar(columns) {
      const filled = total === 0 ? BAR_CELLS : Math.floor((BAR_CELLS * done) / total);
      const cells = `${'█'.repeat(filled)}${'░'.repeat(BAR_CELLS - filled)}`;
      const text = `${percent().padStart(5)}  ${amount()}${pace()}`;
      const line = `${label}  ${cells} ${text}`;
      // A line that wraps cannot be redrawn.
      return line.length < columns ? line : `${label} ${text.trim()}`.slice(0, columns - 1);
    },
    line: () => `${label}: ${percent()}, ${amount()}${pace()}`,
    summary() {
      const elapsedMs = now() - startMs;
      const perSecond = ((done - resumed) * 1000) / elapsedMs;
      // Work that took no time or was done before has no meaningful rate.
      const rate = elapsedMs < 500 || perSecond === 0 ? '' : `, ${formatRate(perSecond, unit)}`;
      return `${label}: ${formatQuantity(total, unit)} in ${formatDuration(elapsedMs)}${rate}`;
    },
  };
}

/** ", 12 of 64 tasks done, 8 at work". A task is at work after its first unit and before its last. */
function describeTasks(tasks: readonly TaskProgress[]): string {
  const ended = tasks.filter(({ done, total }) => done >= total).length;
  const working = tasks.filter(({ done, total }) => done > 0 && done < total).length;
  return `, ${ended} of ${tasks.length} tasks done, ${working} at work`;
}

/** Returns the text for a stage. */
export function wordsOf({ stage, ...state }: ProgressState): ProgressWords {
  const { label, unit } = STAGES[stage];
  return { ...state, stage: label, unit };
}

/** "1 query", "30 queries". */
export function formatAmount(count: number, stage: ProgressStage): string {
  const { unit, one = unit }: StageWords = STAGES[stage];
  return `${count} ${count === 1 ? one : unit}`;
}

/** "11.5 M residues", "730 MB". */
export function formatQuantity(count: number, unit: string): string {
  const text = formatCount(count);
  // A prefix joins its unit (MB). A word stays apart (M residues).
  return unit === 'B' && /[a-z]$/i.test(text) ? `${text}B` : `${text} ${unit}`;
}

/** "27.4 k residues/s", "0.4 queries/s". */
export function formatRate(perSecond: number, unit: string): string {
  const isSlow = perSecond < 9.95 && unit !== 'B';
  return `${isSlow ? `${perSecond.toFixed(1)} ${unit}` : formatQuantity(perSecond, unit)}/s`;
}

/** Three significant digits with a decimal prefix: "730", "1.23 k", "11.5 M". */
export function formatCount(count: number): string {
  const prefixes = ['', 'k', 'M', 'G', 'T'];
  let scaled = count;
  let prefix = 0;
  // A value that would round to 1,000 takes the next prefix.
  while (scaled >= 999.5 && prefix < prefixes.length - 1) {
    scaled /= 1000;
    prefix += 1;
  }
  if (prefix === 0) return String(Math.round(scaled));
  const digits = scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${prefixes[prefix]}`;
}

/** "0.4 s", "0:42", "3:07:15". */
export function formatDuration(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  const two = (part: number): string => String(part).padStart(2, '0');
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}
