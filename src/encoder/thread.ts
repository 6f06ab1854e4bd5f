import { Worker } from 'node:worker_threads';
import { Fault } from '../errors.js';
import type { EncodeTask, EncodedWindow, WorkerAnswer, WorkerRequest, WorkerSettings } from './worker.js';

/** Client of a worker thread that runs the model. */
export interface EncodeThread {
  readonly pendingCount: number;
  /** True after the thread has ended, for any reason. */
  readonly isEnded: boolean;
  /**
   * Runs the model on a task and returns the vectors of its residues.
   * Errors  Fault when the model fails or the thread ends
   */
  encode(task: EncodeTask): Promise<EncodedWindow>;
  /** Ends the thread after its pending tasks; resolves when the thread has ended. */
  close(): Promise<void>;
}

/** The compiled entry point, beside this file. */
const WORKER_FILE = new URL('./worker.js', import.meta.url);

interface Pending {
  readonly resolve: (window: EncodedWindow) => void;
  readonly reject: (fault: Fault) => void;
}

/**
 * Starts a worker and waits until it has loaded the model.
 * Errors  Fault when it cannot
 */
export async function startEncodeThread(settings: WorkerSettings, file = WORKER_FILE): Promise<EncodeThread> {
  const worker = new Worker(file, { workerData: settings });
  await untilReady(worker);
  const pending = new Map<number, Pending>();
  let taskCount = 0;
  let isEnded = false;

  worker.on('message', (answer: WorkerAnswer) => {
    if (answer.kind !== 'encoded' && answer.kind !== 'failure') return;
    const task = pending.get(answer.id);
    pending.delete(answer.id);
    if (answer.kind === 'encoded') task?.resolve(answer.window);
    else task?.reject(new Fault(`The encoder ${settings.card.id} failed: ${answer.message}`));
  });
  const end = (cause: unknown): void => {
    isEnded = true;
    for (const task of pending.values()) {
      task.reject(new Fault(`A worker of the encoder ${settings.card.id} ended.`, { cause }));
    }
    pending.clear();
  };
  worker.on('error', end);
  const exited = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      end(new Error(`exit code ${code}`));
      resolve();
    });
  });

  return {
    get pendingCount() {
      return pending.size;
    },
    get isEnded() {
      return isEnded;
    },
    encode: (task) =>
      new Promise((resolve, reject) => {
        if (isEnded) throw new Fault(`A worker of the encoder ${settings.card.id} has ended.`);
        const id = taskCount++;
        pending.set(id, { resolve, reject });
        worker.postMessage({ id, task } satisfies WorkerRequest);
      }),
    close: () => {
      if (!isEnded) worker.postMessage(null satisfies WorkerRequest);
      return exited;
    },
  };
}

function untilReady(worker: Worker): Promise<void> {
  return new Promise((resolve, reject) => {
    worker.once('message', (answer: WorkerAnswer) => {
      if (answer.kind === 'unusable') reject(new Fault(answer.message));
      else resolve();
    });
    worker.once('error', (cause) => reject(new Fault('The encoder could not start.', { cause })));
    worker.once('exit', (code) => reject(new Fault(`The encoder's worker ended with exit code ${code}.`)));
  });
}
