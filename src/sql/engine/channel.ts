import { fork, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Fault } from '../../errors.js';
import { StatementFailure } from './failure.js';
import type { EngineAnswer, EngineAnswers, EngineRequest } from './messages.js';

/** The compiled entry point, beside this file. */
const PROCESS_FILE = new URL('./process.js', import.meta.url);
/** JavaScript of the engine's process holds one batch of rows, and no more. */
const HEAP_MEBIBYTES = 256;
const PAGE_BYTES = 4096;

/** The process of an engine, seen from the server. */
export interface EngineChannel {
  readonly isEnded: boolean;
  /** Errors  StatementFailure that the engine gives; Fault, or the reason of its end, where the process has ended */
  ask<Kind extends EngineRequest['kind']>(
    request: Extract<EngineRequest, { readonly kind: Kind }>,
  ): Promise<EngineAnswers[Kind]>;
  /** Memory that the process takes now; undefined where the system does not tell. */
  residentBytes(): number | undefined;
  /** Ends the process at once; what was asked fails with the reason. */
  end(reason: Error): void;
}

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
}

/** @param onEnd called once, when the process has ended for whatever reason */
export function openEngineChannel(onEnd: () => void): EngineChannel {
  const child = fork(PROCESS_FILE, {
    serialization: 'advanced',
    // Nothing of the server's environment is for statements.
    env: {},
    execArgv: [`--max-old-space-size=${HEAP_MEBIBYTES}`],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const pending = new Map<number, Pending>();
  let count = 0;
  let ended: Error | undefined;
  const end = (reason: Error): void => {
    if (ended !== undefined) return;
    ended = reason;
    child.kill('SIGKILL');
    for (const { reject } of pending.values()) reject(reason);
    pending.clear();
    onEnd();
  };
  child.once('error', (cause) => end(new Fault('The process of a SQL engine failed.', { cause })));
  child.once('exit', (code, signal) =>
    end(new Fault(`The process of a SQL engine ended with ${signal ?? code}.`)),
  );
  child.on('message', (answer: EngineAnswer) => {
    const asked = pending.get(answer.id);
    pending.delete(answer.id);
    if ('failure' in answer) asked?.reject(new StatementFailure(answer.failure.kind, answer.failure.message));
    else asked?.resolve(answer.value as never);
  });
  return {
    get isEnded() {
      return ended !== undefined;
    },
    ask: (request) =>
      new Promise((resolve, reject) => {
        if (ended !== undefined) return reject(ended);
        count += 1;
        pending.set(count, { resolve, reject });
        child.send({ ...request, id: count }, (cause) => {
          if (cause !== null) end(new Fault('The process of a SQL engine cannot be reached.', { cause }));
        });
      }),
    residentBytes: () => residentBytes(child),
    end,
  };
}

/** Source  proc(5), `/proc/<pid>/statm`: its second number is the resident set in pages */
function residentBytes({ pid }: ChildProcess): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
  } catch {
    return undefined;
  }
}
