import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Signals a process that was spawned `detached`, with all that it has started; nothing where they have ended. */
export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    // The group has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Which process: an id alone may be another process's after a restart. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the process's start; absent where the system does not tell. */
  readonly startTicks?: string;
}

/** Places in what statusOf gives. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** Whether the very process still runs. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const status = statusOf(pid);
  if (status === undefined) return true;
  // A killed process whose parent does not ask for its end stays as a zombie, in containers for ever.
  const isZombie = status[STATE_FIELD] === 'Z' || status[STATE_FIELD] === 'X';
  return !isZombie && (startTicks === undefined || startTicks === status[START_FIELD]);
}

export function processIdentity(pid: number): ProcessIdentity {
  const startTicks = statusOf(pid)?.[START_FIELD];
  return startTicks === undefined ? { pid } : { pid, startTicks };
}

/** Fields of /proc/<pid>/stat from the third on; undefined where the system has no such file. */
function statusOf(pid: number): readonly string[] | undefined {
  try {
    // The second field, the process's name in parentheses, may hold blanks.
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return status.slice(status.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
