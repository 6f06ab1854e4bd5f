import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Fault } from '../../errors.js';
import { StatementFailure } from './failure.js';
import type { EngineAnswer, EngineAnswers, EngineRequest } from './messages.js';

/** The compiled entry point of the process, beside this file. */
const PROCESS_FILE = new URL('./process.js', import.meta.url);
/** Largest JavaScript heap of the engine's process, which holds one batch of rows. */
const HEAP_MEBIBYTES = 256;
const PAGE_BYTES = 4096;

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** The server's end of the connection to an engine's process. */
export class EngineChannel {
  readonly #child: ChildProcess;
  readonly #onEnd: () => void;
  readonly #pending = new Map<number, Pending>();
  #count = 0;
  #ended: Error | undefined;

  /**
   * Starts the process.
   * @param onEnd called once, when the process has ended for any reason
   */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#child = fork(PROCESS_FILE, {
      serialization: 'advanced',
      // Statements must not read the server's environment.
      env: {},
      execArgv: [`--max-old-space-size=${HEAP_MEBIBYTES}`],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.once('error', (cause) =>
      this.end(new Fault('The process of a SQL engine failed.', { cause })),
    );
    this.#child.once('exit', (code, signal) =>
      this.end(new Fault(`The process of a SQL engine ended with ${signal ?? code}.`)),
    );
    this.#child.on('message', (answer: EngineAnswer) => this.#take(answer));
  }

  get isEnded(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Sends a request and returns the answer.
   * Errors  StatementFailure from the engine; if the process has ended, Fault or the reason of its end
   */
  ask<Kind extends EngineRequest['kind']>(
    request: Extract<EngineRequest, { readonly kind: Kind }>,
  ): Promise<EngineAnswers[Kind]> {
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) return reject(this.#ended);
      this.#count += 1;
      this.#pending.set(this.#count, { resolve, reject });
      this.#child.send({ ...request, id: this.#count }, (cause) => {
        if (cause !== null) this.end(new Fault('The process of a SQL engine cannot be reached.', { cause }));
      });
    });
  }

  /** Resident memory of the process. Returns undefined if the system does not report it. */
  residentBytes(): number | undefined {
    return residentBytes(this.#child);
  }

  /** Kills the process at once. Pending requests fail with the reason. */
  end(reason: Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    this.#child.kill('SIGKILL');
    for (const { reject } of this.#pending.values()) reject(reason);
    this.#pending.clear();
    this.#onEnd();
  }

  #take(answer: EngineAnswer): void {
    const pending = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ('failure' in answer)
      pending?.reject(new StatementFailure(answer.failure.kind, answer.failure.message));
    else pending?.resolve(answer.value as never);
  }
}

/** Source  proc(5), `/proc/<pid>/statm`: the second number is the resident set in pages */
function residentBytes({ pid }: ChildProcess): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return undefined;
  }
}
