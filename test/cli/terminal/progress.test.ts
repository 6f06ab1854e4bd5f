// @module-tag fast

import { describe, expect, it } from 'vitest';
import {
  createProgress,
  formatCount,
  formatDuration,
  formatQuantity,
  formatRate,
} from '#src/cli/terminal/progress.js';
import { sumOf } from '#src/pipelines/events/progress.js';

function recorder(isTTY: boolean, columns = 100) {
  const written: string[] = [];
  return { written, stream: { isTTY, columns, write: (text: string) => written.push(text) } };
}

describe('progress', () => {
  it('draws one line with rate and time left on a terminal', () => {
    const { written, stream } = recorder(true);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    for (let second = 0; second <= 10; second += 1) {
      clock = second * 1000;
      progress.update({ stage: 'encode', done: second * 100_000, total: 2_000_000 });
    }
    expect(written.at(-1)).toBe(
      `\rEncoding  ${'█'.repeat(12)}${'░'.repeat(12)}  50 %  ` +
        '1.00 M of 2.00 M residues, 100 k residues/s, 0:10 left\x1b[K',
    );
    progress.end();
    expect(written.at(-1)).toBe('\n');
  });

  it('counts the tasks of work that is divided', () => {
    const { written, stream } = recorder(true, 120);
    const tasks = [
      { done: 5, total: 5 },
      { done: 2, total: 5 },
      { done: 0, total: 5 },
    ];
    createProgress(stream, () => 0).update({ stage: 'compare', ...sumOf(tasks), tasks });
    expect(written.at(-1)).toContain('46 %  7 of 15 parts, 1 of 3 tasks done, 1 at work');
  });

  it('never draws a line that would wrap', () => {
    const { written, stream } = recorder(true, 60);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    for (; clock < 20_000; clock += 500) progress.update({ stage: 'read', done: clock * 1e6, total: 1e11 });
    for (const text of written) expect(text.replace('\r', '').replace('\x1b[K', '').length).toBeLessThan(60);
  });

  it('prints a line every ten seconds and one for each finished stage elsewhere', () => {
    const { written, stream } = recorder(false);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    for (; clock <= 25_000; clock += 100) progress.update({ stage: 'encode', done: clock, total: 25_000 });
    progress.update({ stage: 'write', done: 5, total: 5 });
    progress.end();
    expect(written).toEqual([
      'Encoding: 40 %, 10.0 k of 25.0 k residues, 1.00 k residues/s, 0:15 left\n',
      'Encoding: 80 %, 20.0 k of 25.0 k residues, 1.00 k residues/s, 5.0 s left\n',
      'Encoding: 25.0 k residues in 0:25, 996 residues/s\n',
      'Writing: 5 proteins in 0.0 s\n',
    ]);
  });

  it('excludes the work of an earlier run from the rate', () => {
    const { written, stream } = recorder(false);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    progress.update({ stage: 'encode', done: 900_000, total: 1_000_000 });
    clock = 10_000;
    progress.update({ stage: 'encode', done: 910_000, total: 1_000_000 });
    expect(written[0]).toContain('1.00 k residues/s, 1:30 left');
  });

  it('does not count units into the pace that a stage finds done after its first report', () => {
    const { written, stream } = recorder(false);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    progress.update({ stage: 'calibrate', done: 0, total: 1_000_000 });
    progress.update({ stage: 'calibrate', done: 680_000, total: 1_000_000, isResumed: true });
    for (clock = 1000; clock <= 10_000; clock += 1000)
      progress.update({ stage: 'calibrate', done: 680_000 + clock, total: 1_000_000 });
    expect(written[0]).toContain('69 %, 690 k of 1.00 M pairs, 1.00 k pairs/s, 5:10 left');
  });

  it('draws a whole line on a terminal that reports no width', () => {
    const { written, stream } = recorder(true, 0);
    createProgress(stream, () => 0).update({ stage: 'encode', done: 1, total: 2 });
    expect(written.at(-1)).toContain('1 of 2 residues');
  });

  it('redraws by a timer between reports', () => {
    const { written, stream } = recorder(false);
    let clock = 0;
    const progress = createProgress(stream, () => clock);
    progress.update({ stage: 'encode', done: 1, total: 9 });
    for (; clock <= 35_000; clock += 1000) progress.tick();
    expect(written).toHaveLength(3);
  });

  it('prints nothing for a failed stage or an empty one', () => {
    const { written, stream } = recorder(false);
    const progress = createProgress(stream, () => 0);
    progress.end();
    progress.update({ stage: 'read', done: 1, total: 9 });
    progress.end();
    expect(written).toEqual([]);
  });
});

describe('quantities for people', () => {
  it('have three digits and a prefix', () => {
    expect(
      [0, 999, 999.6, 1_000, 12_345, 999_499, 999_500, 7_647_592].map((count) => formatCount(count)),
    ).toEqual(['0', '999', '1.00 k', '1.00 k', '12.3 k', '999 k', '1.00 M', '7.65 M']);
    expect([0.44, 9.94, 9.96, 27_400].map((rate) => formatRate(rate, 'queries'))).toEqual([
      '0.4 queries/s',
      '9.9 queries/s',
      '10 queries/s',
      '27.4 k queries/s',
    ]);
    expect(formatQuantity(512, 'B')).toBe('512 B');
    expect(formatQuantity(5.2e9, 'B')).toBe('5.20 GB');
    expect(formatQuantity(5.2e6, 'residues')).toBe('5.20 M residues');
    expect([400, 42_000, 11_235_400].map(formatDuration)).toEqual(['0.4 s', '0:42', '3:07:15']);
  });
});
