// @module-tag fast

import { describe, expect, it } from 'vitest';
import { Fault } from '#src/errors.js';
import { startEncodePool, type PoolTask } from '#src/encoder/pool.js';
import type { EncodedWindow } from '#src/encoder/worker.js';
import type { EncodeThread } from '#src/encoder/thread.js';

/** A thread whose answers the test gives, in the order of its tasks. */
class ScriptedThread implements EncodeThread {
  isEnded = false;
  readonly tasks: {
    residues: string;
    resolve: (window: EncodedWindow) => void;
    reject: (fault: Fault) => void;
  }[] = [];

  get pendingCount(): number {
    return this.tasks.length;
  }
  encode({ residues }: { residues: string }): Promise<EncodedWindow> {
    return new Promise((resolve, reject) => this.tasks.push({ residues, resolve, reject }));
  }
  close(): Promise<void> {
    this.die();
    return Promise.resolve();
  }
  async answer(): Promise<string> {
    const task = this.tasks.shift()!;
    task.resolve({ tokens: new Int8Array(), fadeIn: new Float32Array(), fadeOut: new Float32Array() });
    await settled();
    return task.residues;
  }
  die(): void {
    this.isEnded = true;
    for (const task of this.tasks.splice(0)) task.reject(new Fault('The thread ended.'));
  }
}

/** Lets all promises that can settle do so. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

async function startScripted(count: number) {
  const threads: ScriptedThread[] = [];
  const pool = await startEncodePool(async () => {
    const thread = new ScriptedThread();
    threads.push(thread);
    return thread;
  }, count);
  return { pool, threads };
}

function tasksOf(residues: readonly string[], received: string[] = []): readonly PoolTask[] {
  return residues.map((text) => ({
    task: { residues: text, keptStart: 0, keptEnd: text.length, fadeIn: 0, fadeOut: 0 },
    receive: () => void received.push(text),
  }));
}

describe('the pool of encoder threads', () => {
  it('gives each thread two tasks, and another task for each answer', async () => {
    const { pool, threads } = await startScripted(2);
    const done = pool.run(tasksOf(['a', 'b', 'c', 'd', 'e']));
    await settled();
    expect(threads.map((thread) => thread.tasks.map((task) => task.residues))).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
    await threads[1].answer();
    expect(threads[1].tasks.map((task) => task.residues)).toEqual(['d', 'e']);
    for (const thread of threads) while (thread.tasks.length > 0) await thread.answer();
    await done;
  });

  it('serves a short call between the tasks of a long one', async () => {
    const { pool, threads } = await startScripted(1);
    const order: string[] = [];
    const long = pool.run(tasksOf(['a1', 'a2', 'a3', 'a4', 'a5']));
    await settled();
    const short = pool.run(tasksOf(['b']));
    await settled();
    while (threads[0].tasks.length > 0) order.push(await threads[0].answer());
    await Promise.all([long, short]);
    expect(order.indexOf('b')).toBeLessThan(4);
  });

  it('rejects a cancelled call at once with the reason and sends no more of it', async () => {
    const { pool, threads } = await startScripted(1);
    const received: string[] = [];
    const abort = new AbortController();
    const done = pool.run(tasksOf(['a', 'b', 'c', 'd'], received), abort.signal);
    const rejected = expect(done).rejects.toThrow('changed my mind');
    await settled();
    abort.abort(new Error('changed my mind'));
    await rejected;
    await threads[0].answer();
    await threads[0].answer();
    expect(threads[0].tasks).toEqual([]);
    await expect(pool.run(tasksOf(['x']), abort.signal)).rejects.toThrow('changed my mind');
  });

  it('rejects the calls of a thread that ended and starts another for the next call', async () => {
    const { pool, threads } = await startScripted(1);
    const done = pool.run(tasksOf(['a', 'b', 'c']));
    const rejected = expect(done).rejects.toBeInstanceOf(Fault);
    await settled();
    threads[0].die();
    await rejected;
    const again = pool.run(tasksOf(['d']));
    await settled();
    expect(threads).toHaveLength(2);
    await threads[1].answer();
    await again;
  });

  it('rejects waiting calls when it is closed, and every later call', async () => {
    const { pool } = await startScripted(1);
    const rejected = expect(pool.run(tasksOf(['a', 'b', 'c']))).rejects.toBeInstanceOf(Fault);
    await settled();
    await pool.close();
    await rejected;
    await expect(pool.run(tasksOf(['d']))).rejects.toThrow();
  });

  it('closes the threads that started where one could not', async () => {
    const started: ScriptedThread[] = [];
    const start = async () => {
      if (started.length === 1) throw new Fault('no memory');
      started.push(new ScriptedThread());
      return started[0];
    };
    await expect(startEncodePool(start, 2)).rejects.toThrow('no memory');
    expect(started[0].isEnded).toBe(true);
  });
});
