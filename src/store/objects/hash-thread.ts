import { Worker } from 'node:worker_threads';
import { Fault } from '../../errors.js';
import type { HashAnswer, HashRequest } from './joined-hash-worker.js';

/** The compiled entry point, beside this file. */
const WORKER_FILE = new URL('./joined-hash-worker.js', import.meta.url);
/** The thread holds one buffer and some hashes. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

interface PendingHash {
  readonly resolve: (sha256: string | undefined) => void;
  readonly reject: (fault: Fault) => void;
}

/** Client of the thread that hashes stored bytes. The first request starts the thread. */
export class HashThread {
  #worker: Worker | undefined;
  /** Open requests, in the order of their responses. */
  #pending: PendingHash[] = [];

  /** Sends a request. Errors  Fault if the bytes cannot be read or the thread ends, which loses its hashes */
  ask(request: HashRequest): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#pending.push({ resolve, reject });
      this.#worker.postMessage(request);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(WORKER_FILE, { resourceLimits: HEAP });
    worker.on('message', (answer: HashAnswer) => this.#take(answer, worker));
    worker.on('error', (cause) => this.#end(cause, worker));
    worker.on('exit', (code) => this.#end(new Error(`exit code ${code}`), worker));
    return worker;
  }

  #take(answer: HashAnswer, from: Worker): void {
    const first = this.#pending.shift();
    if (this.#pending.length === 0) from.unref();
    if ('failure' in answer) first?.reject(new Fault(`Stored bytes cannot be hashed: ${answer.failure}`));
    else first?.resolve(answer.sha256);
  }

  /** Ends the thread. The next request starts another. */
  #end(cause: unknown, ended: Worker): void {
    if (this.#worker !== ended) return;
    this.#worker = undefined;
    const waiting = this.#pending;
    this.#pending = [];
    for (const { reject } of waiting) reject(new Fault('The thread that hashes has ended.', { cause }));
  }
}
