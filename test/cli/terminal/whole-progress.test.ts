// @module-tag fast

import { describe, expect, it } from 'vitest';
import { createWholeProgress } from '#src/cli/terminal/whole-progress.js';
import type { ExpectedStage } from '#src/pipelines/estimate.js';
import type { PipelineStage } from '#src/pipelines/events/progress.js';

const stage = (name: PipelineStage, ms: number): ExpectedStage => ({ stage: name, ms, isMeasured: true });

interface Worked {
  readonly stage: PipelineStage;
  readonly ms: number;
  readonly total: number;
  /** Progress by share of the time. Default: even. */
  readonly shape?: (share: number) => number;
}

/** Runs stages on a clock of its own, and gives the shown seconds left by the clock. Unit: ms */
function run(
  planned: readonly ExpectedStage[],
  stages: readonly Worked[],
  { isTTY = true, columns = 200 } = {},
) {
  let clock = 0;
  const shown: { readonly atMs: number; readonly text: string; readonly leftMs: number | undefined }[] = [];
  const measured: unknown[] = [];
  const write = (text: string): void => {
    const [, hours = '0', minutes, seconds] = /, (?:(\d+):)?(\d+):(\d+) left/.exec(text) ?? [];
    const short = /, ([\d.]+) s left/.exec(text)?.[1];
    const leftMs =
      minutes !== undefined
        ? (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
        : short === undefined
          ? undefined
          : Number(short) * 1000;
    shown.push({ atMs: clock, text, leftMs });
  };
  const progress = createWholeProgress(
    { isTTY, columns, write },
    { label: 'Building lab', stages: planned, onStage: (...each) => measured.push(each) },
    () => clock,
  );
  for (const { stage: name, ms, total, shape = (share: number) => share } of stages) {
    const startMs = clock;
    for (let step = 0; step <= 200; step += 1) {
      clock = startMs + (ms * step) / 200;
      progress.update({ stage: name, done: Math.floor(total * shape(step / 200)), total });
      progress.tick();
    }
  }
  progress.end();
  return { shown, measured, endMs: clock };
}

const PLAN = [
  stage('read', 2_000),
  stage('encode', 60_000),
  stage('write', 1_000),
  stage('calibrate', 120_000),
];
const worked = (factor: number, shape?: Worked['shape']): Worked[] => [
  { stage: 'read', ms: 2_000 * factor, total: 1e6 },
  { stage: 'encode', ms: 60_000 * factor, total: 2e6, shape },
  { stage: 'write', ms: 1_000 * factor, total: 6_000 },
  { stage: 'calibrate', ms: 120_000 * factor, total: 8e6, shape },
];

describe('the progress of a whole build', () => {
  it.each([0.2, 0.5, 1, 3, 8])(
    'estimates the whole within a factor of two from its first tenth on, on a machine %d times slower than planned',
    (factor) => {
      const { shown, endMs } = run(PLAN, worked(factor));
      const late = shown.filter(
        ({ atMs, leftMs }) => atMs >= endMs / 10 && leftMs !== undefined && atMs < endMs,
      );
      expect(late.length).toBeGreaterThan(100);
      for (const { atMs, leftMs } of late) {
        expect((atMs + leftMs!) / endMs, `at ${atMs} of ${endMs}`).toBeGreaterThan(0.5);
        expect((atMs + leftMs!) / endMs, `at ${atMs} of ${endMs}`).toBeLessThan(2);
      }
    },
  );

  it('does not despair of a stage that starts slowly', () => {
    // Nothing for a tenth of each stage, then all of it evenly.
    const slow = (share: number): number => Math.max(0, (share - 0.1) / 0.9);
    const { shown, endMs } = run(PLAN, worked(1, slow));
    for (const { leftMs = 0 } of shown) expect(leftMs).toBeLessThan(3 * endMs);
  });

  it('is one bar that names its stages', () => {
    const { shown } = run(PLAN, worked(1));
    expect(shown.filter(({ text }) => text.endsWith('\n'))).toHaveLength(1);
    const text = shown.map((each) => each.text).join('\n');
    for (const name of ['reading', 'encoding', 'writing', 'calibrating for E-values'])
      expect(text).toContain(name);
    expect(text).toMatch(/Building lab  █+░+ {2}\d\d %  encoding [\d.]+ M of 2\.00 M residues, \d:\d\d left/);
  });

  it('never decreases', () => {
    const { shown } = run(PLAN, worked(1));
    const percents = shown.flatMap(({ text }) => /(\d+) %/.exec(text)?.[1] ?? []).map(Number);
    for (const [index, percent] of percents.slice(1).entries())
      expect(percent).toBeGreaterThanOrEqual(percents[index] - 1);
    expect(percents.at(-1)).toBe(100);
  });

  it('prints a line every ten seconds outside a terminal, also between reports, and a line for each stage', () => {
    let clock = 0;
    const written: string[] = [];
    const work = { label: 'Building lab', stages: PLAN };
    const progress = createWholeProgress({ write: (text) => written.push(text) }, work, () => clock);
    progress.update({ stage: 'read', done: 5, total: 5 });
    for (; clock <= 45_000; clock += 1000) progress.tick();
    expect(written).toHaveLength(4);
    for (const line of written) expect(line).toMatch(/^Building lab: \d+ %, encoding.* left\n$/);
    progress.update({ stage: 'encode', done: 9, total: 9 });
    progress.end();
    expect(written.filter((line) => /^(Reading|Encoding): .* in /.test(line))).toHaveLength(2);
  });

  it.each([0, 40, 80])('draws no line that wraps on a terminal of %d columns', (columns) => {
    const { shown } = run(PLAN, worked(1), { columns });
    for (const { text } of shown)
      expect(text.replace('\r', '').replace('\x1b[K', '').length).toBeLessThan(columns || 80);
  });

  it('never shows a smaller share within a stage that becomes slower', () => {
    const slower = (share: number): number => share ** 0.4;
    const { shown } = run(PLAN, [
      { stage: 'encode', ms: 60_000, total: 2e6 },
      { stage: 'calibrate', ms: 400_000, total: 8e6, shape: slower },
    ]);
    const percents = shown.flatMap(({ text }) => /(\d+) %  calibrating/.exec(text)?.[1] ?? []).map(Number);
    expect(percents.length).toBeGreaterThan(100);
    expect(percents).toEqual([...percents].sort((a, b) => a - b));
  });

  it('reports the duration of each stage that ran as a whole', () => {
    const { measured } = run(PLAN, worked(1));
    expect(measured).toEqual([
      ['read', 1e6, 2_000],
      ['encode', 2e6, 60_000],
      ['write', 6_000, 1_000],
      ['calibrate', 8e6, 120_000],
    ]);
    const resumed: unknown[] = [];
    let clock = 0;
    const onStage = (...each: unknown[]): void => void resumed.push(each);
    const work = { label: 'Building lab', stages: PLAN, onStage };
    const progress = createWholeProgress({ isTTY: true, write: () => undefined }, work, () => clock);
    progress.update({ stage: 'encode', done: 1e6, total: 2e6 });
    clock = 30_000;
    progress.update({ stage: 'encode', done: 2e6, total: 2e6 });
    expect(resumed).toEqual([]);
  });

  it('does not take work of an earlier run for speed', () => {
    let clock = 0;
    const written: string[] = [];
    const work = { label: 'Building lab', stages: PLAN };
    const progress = createWholeProgress({ write: (text) => written.push(text) }, work, () => clock);
    progress.update({ stage: 'calibrate', done: 0, total: 1e6 });
    progress.update({ stage: 'calibrate', done: 680_000, total: 1e6, isResumed: true });
    for (; clock <= 30_000; clock += 100)
      progress.update({ stage: 'calibrate', done: 680_000 + clock, total: 1e6 });
    // 290,000 pairs at 1,000 a second.
    const [, minutes, seconds] = /(\d+):(\d+) left/.exec(written.at(-1)!)!;
    const leftSeconds = Number(minutes) * 60 + Number(seconds);
    expect(leftSeconds).toBeGreaterThan(145);
    expect(leftSeconds).toBeLessThan(580);
  });
});
