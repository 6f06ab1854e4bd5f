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
  return new ThreadPool(start, await startThreads(start, threadCount));
}

class ThreadPool implements EncodePool {
  readonly #start: () => Promise<EncodeThread>;
  readonly #threadCount: number;
  #threads: readonly EncodeThread[];
  #restart: Promise<void> | undefined;
  #isClosed = false;
  /** Calls with waiting tasks; the first is served next. */
  #calls: Call[] = [];

  constructor(start: () => Promise<EncodeThread>, threads: readonly EncodeThread[]) {
    this.#start = start;
    this.#threadCount = threads.length;
    this.#threads = threads;
  }

  async run(tasks: readonly PoolTask[], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.#restart ??= this.#replaceEnded().finally(() => (this.#restart = undefined));
    await this.#restart;
    signal?.throwIfAborted();
    if (this.#isClosed) throw new Fault('The encoder is closed.');
    if (tasks.length === 0) return;
    let call: Call | undefined;
    const cancel = (): void => call?.reject(signal?.reason);
    try {
      await new Promise<void>((resolve, reject) => {
        call = { waiting: tasks.toReversed(), missingCount: tasks.length, resolve, reject };
        this.#calls.push(call);
        signal?.addEventListener('abort', cancel, { once: true });
        this.#serve();
      });
    } finally {
      signal?.removeEventListener('abort', cancel);
      this.#calls = this.#calls.filter((other) => other !== call);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#calls) call.reject(new Fault('The encoder was closed.'));
    // Threads that are being started must be closed too; whether they start is their caller's business.
    await this.#restart?.catch(() => undefined);
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #serve(): void {
    const alive = this.#threads.filter((thread) => !thread.isEnded);
    while (this.#calls.length > 0) {
      const thread = leastBusy(alive);
      if (thread === undefined || thread.pendingCount >= THREAD_MAX_TASKS) break;
      const call = this.#calls.shift()!;
      const { task, receive } = call.waiting.pop()!;
      if (call.waiting.length > 0) this.#calls.push(call);
      const received = (window: EncodedWindow): void => {
        receive(window);
        call.missingCount--;
        if (call.missingCount === 0) call.resolve();
      };
      void thread
        .encode(task)
        .then(received)
        .catch(call.reject)
        .finally(() => this.#serve());
    }
    if (alive.length === 0)
      for (const call of this.#calls) call.reject(new Fault('No worker of the encoder is left.'));
  }

  /** When the next call comes, not when they end: a model that kills its threads must not loop. */
  async #replaceEnded(): Promise<void> {
    const alive = this.#threads.filter((thread) => !thread.isEnded);
    const missing = this.#threadCount - alive.length;
    if (missing > 0) this.#threads = [...alive, ...(await startThreads(this.#start, missing))];
  }
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
