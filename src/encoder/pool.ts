import { Fault } from '../errors.js';
import type { EncodeThread } from './thread.js';
import type { EncodeTask, EncodedWindow } from './worker.js';

export interface PoolTask {
  readonly task: EncodeTask;
  /** Called once with what the task gave. */
  readonly receive: (window: EncodedWindow) => void;
}

/**
 * Threads that each hold the model. Callers are served in turn, one task each, so that none waits for a long
 * batch.
 */
export interface EncodePool {
  /**
   * Resolves when every task has been received.
   * Errors  Fault when the model fails or a thread ends; the signal's reason when cancelled, at once: runs
   *         that have begun end unheard
   */
  run(tasks: readonly PoolTask[], signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

interface Call {
  readonly waiting: PoolTask[];
  /** Tasks that have not been received. */
  missingCount: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A second task lies ready in the thread, so that it does not idle while an answer travels. */
const THREAD_MAX_TASKS = 2;

/**
 * Starts the threads and waits until each has loaded the model.
 * Errors  Fault when one cannot
 */
export async function startEncodePool(
  start: () => Promise<EncodeThread>,
  threadCount: number,
): Promise<EncodePool> {
  let threads = await startThreads(start, threadCount);
  let restart: Promise<void> | undefined;
  let isClosed = false;
  /** Calls with waiting tasks; the first is served next. */
  let calls: Call[] = [];

  const serve = (): void => {
    const alive = threads.filter((thread) => !thread.isEnded);
    while (calls.length > 0) {
      const thread = leastBusy(alive);
      if (thread === undefined || thread.pendingCount >= THREAD_MAX_TASKS) break;
      const call = calls.shift()!;
      const { task, receive } = call.waiting.pop()!;
      if (call.waiting.length > 0) calls.push(call);
      const received = (window: EncodedWindow): void => {
        receive(window);
        call.missingCount--;
        if (call.missingCount === 0) call.resolve();
      };
      void thread.encode(task).then(received).catch(call.reject).finally(serve);
    }
    if (alive.length === 0)
      for (const call of calls) call.reject(new Fault('No worker of the encoder is left.'));
  };

  /**
   * Ended threads are replaced when the next call comes, not when they end: a model that kills them must not
   * loop.
   */
  const replaceEnded = async (): Promise<void> => {
    const alive = threads.filter((thread) => !thread.isEnded);
    if (alive.length === threadCount) return;
    threads = [...alive, ...(await startThreads(start, threadCount - alive.length))];
  };

  const run = async (tasks: readonly PoolTask[], signal?: AbortSignal): Promise<void> => {
    signal?.throwIfAborted();
    restart ??= replaceEnded().finally(() => (restart = undefined));
    await restart;
    signal?.throwIfAborted();
    if (isClosed) throw new Fault('The encoder is closed.');
    if (tasks.length === 0) return;
    let call: Call | undefined;
    const cancel = (): void => call?.reject(signal?.reason);
    try {
      await new Promise<void>((resolve, reject) => {
        call = { waiting: tasks.toReversed(), missingCount: tasks.length, resolve, reject };
        calls.push(call);
        signal?.addEventListener('abort', cancel, { once: true });
        serve();
      });
    } finally {
      signal?.removeEventListener('abort', cancel);
      calls = calls.filter((other) => other !== call);
    }
  };

  const close = async (): Promise<void> => {
    isClosed = true;
    for (const call of calls) call.reject(new Fault('The encoder was closed.'));
    // Threads that are being started must be closed too; whether they start is their caller's business.
    await restart?.catch(() => undefined);
    await Promise.all(threads.map((thread) => thread.close()));
  };
  return { run, close };
}

async function startThreads(
  start: () => Promise<EncodeThread>,
  count: number,
): Promise<readonly EncodeThread[]> {
  const started = await Promise.allSettled(Array.from({ length: count }, start));
  const threads = started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const failure = started.find((result) => result.status === 'rejected');
  if (failure === undefined) return threads;
  await Promise.all(threads.map((thread) => thread.close()));
  throw failure.reason;
}

function leastBusy(threads: readonly EncodeThread[]): EncodeThread | undefined {
  let best = threads[0];
  for (const thread of threads) if (thread.pendingCount < best!.pendingCount) best = thread;
  return best;
}
