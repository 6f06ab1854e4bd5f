// @module-tag fast

import { expect, test } from 'vitest';
import { createTurns } from '#src/kernels/turns.js';
import { GPU_BUSY_MAX_ATTEMPTS } from '#src/limits.js';

const BUSY = new Error('busy');

/** Stub of work whose end the test resolves. */
function workOf(log: string[], name: string) {
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const work = async (): Promise<string> => {
    log.push(`${name} begins`);
    await ended;
    log.push(`${name} ends`);
    return name;
  };
  return { work, end };
}
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('work without room waits for running work, and later work waits for it', async () => {
  const turns = createTurns((error) => error === BUSY);
  const log: string[] = [];
  const [first, alone, later] = ['first', 'alone', 'later'].map((name) => workOf(log, name));
  let isFree = false;
  const taken = [
    turns.take(first!.work),
    turns.take(async () => {
      if (!isFree) throw BUSY;
      return alone!.work();
    }),
  ];
  await soon();
  taken.push(turns.take(later!.work));
  later!.end();
  await soon();
  expect(log).toEqual(['first begins']);
  isFree = true;
  first!.end();
  await soon();
  expect(log).toEqual(['first begins', 'first ends', 'alone begins']);
  alone!.end();
  expect(await Promise.all(taken)).toEqual(['first', 'alone', 'later']);
  expect(log.slice(3)).toEqual(['alone ends', 'later begins', 'later ends']);
});

test('work that never finds room fails after its attempts, and later work continues', async () => {
  const turns = createTurns((error) => error === BUSY);
  let attempts = 0;
  const hopeless = turns.take(async () => {
    attempts += 1;
    throw BUSY;
  });
  await expect(hopeless).rejects.toBe(BUSY);
  expect(attempts).toBe(1 + GPU_BUSY_MAX_ATTEMPTS);
  expect(await turns.take(async () => 'served')).toBe('served');
});

test('cancelled work that waits for its turn rejects at once', async () => {
  const turns = createTurns((error) => error === BUSY);
  const { work, end } = workOf([], 'first');
  const first = turns.take(work);
  const controller = new AbortController();
  const waiting = turns.take(async () => {
    controller.signal.throwIfAborted();
    throw BUSY;
  }, controller.signal);
  await soon();
  controller.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await expect(turns.take(work, controller.signal)).rejects.toThrow('enough');
  end();
  expect(await first).toBe('first');
});
