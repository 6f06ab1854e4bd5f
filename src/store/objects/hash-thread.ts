import { Worker } from 'node:worker_threads';
import { Fault } from '../../errors.js';
import type { HashAnswer, HashRequest } from './joined-hash-worker.js';

/** The thread that hashes stored bytes, seen from outside; it starts with the first request. */
export interface HashThread {
  /** Errors  Fault where the bytes cannot be read or the thread ends: then its hashes are lost */
  ask(request: HashRequest): Promise<string | undefined>;
  close(): Promise<void>;
}

/** The compiled entry point, beside this file. */
const WORKER_FILE = new URL('./joined-hash-worker.js', import.meta.url);
/** It holds a buffer and some hashes. */
const HEAP = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 2 };

interface Asked {
  readonly resolve: (sha256: string | undefined) => void;
  readonly reject: (fault: Fault) => void;
}

export function createHashThread(): HashThread {
  let worker: Worker | undefined;
  let asked: Asked[] = [];
  const start = (): Worker => {
    const started = new Worker(WORKER_FILE, { resourceLimits: HEAP });
    const end = (cause: unknown): void => {
      if (worker !== started) return;
      worker = undefined;
      const waiting = asked;
      asked = [];
      for (const { reject } of waiting) reject(new Fault('The thread that hashes has ended.', { cause }));
    };
    started.on('message', (answer: HashAnswer) => {
      const first = asked.shift();
      if (asked.length === 0) started.unref();
      if ('failure' in answer) first?.reject(new Fault(`Stored bytes cannot be hashed: ${answer.failure}`));
      else first?.resolve(answer.sha256);
    });
    started.on('error', end);
    started.on('exit', (code) => end(new Error(`exit code ${code}`)));
    return started;
  };
  return {
    ask: (request) =>
      new Promise((resolve, reject) => {
        worker ??= start();
        worker.ref();
        asked.push({ resolve, reject });
        worker.postMessage(request);
      }),
    async close() {
      await worker?.terminate();
    },
  };
}
