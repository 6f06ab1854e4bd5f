// @module-tag fast

import { describe, expect, it } from 'vitest';
import { RunWatch } from '#src/services/runs/watch.js';

const LONG_MS = 60_000;
const { signal } = new AbortController();

describe('a watch over runs', () => {
  it('keeps one change that came without a waiter', async () => {
    const changes = new RunWatch().open('run_1');
    const watch = new RunWatch();
    const open = watch.open('run_1');
    watch.notify('run_1');
    expect(await open.next(LONG_MS, signal)).toBe(true);
    expect(await open.next(1, signal)).toBe(false);
    expect(await changes.next(1, signal)).toBe(false);
  });

  it('wakes all waiters for the run, and no others', async () => {
    const watch = new RunWatch();
    const waits = [watch.open('run_1'), watch.open('run_1')].map((changes) => changes.next(LONG_MS, signal));
    const other = watch.open('run_2').next(20, signal);
    watch.notify('run_1');
    expect(await Promise.all(waits)).toEqual([true, true]);
    expect(await other).toBe(false);
  });

  it('ends every wait when the server stops, those that begin later included', async () => {
    const watch = new RunWatch();
    const changes = watch.open('run_1');
    const waiting = changes.next(LONG_MS, signal);
    watch.end();
    expect(await waiting).toBe(false);
    expect(await changes.next(LONG_MS, signal)).toBe(false);
  });

  it('ends a wait with its signal', async () => {
    const controller = new AbortController();
    const waiting = new RunWatch().open('run_1').next(LONG_MS, controller.signal);
    controller.abort();
    expect(await waiting).toBe(false);
  });

  it('wakes no closed watcher, and a second close changes nothing', async () => {
    let notified = 0;
    const watch = new RunWatch(() => (notified += 1));
    const [first, second] = [watch.open('run_1'), watch.open('run_1')];
    first.close();
    first.close();
    watch.notify('run_1');
    expect(notified).toBe(1);
    expect(await second.next(LONG_MS, signal)).toBe(true);
    expect(await first.next(1, signal)).toBe(false);
  });
});
