import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority, totalmem } from 'node:os';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from './errors.js';

const LOCK_FILE = 'lock';
const ATTEMPTS = 5;

/** Signals a process spawned `detached`, with all its descendants in the group. No-op if they have ended. */
export function signalGroup({ pid }: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch (error) {
    // The group has ended.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

const LOWEST_PRIORITY = 19;
/** Steps by which a group is lowered. */
const GROUP_STEPS = 10;

/**
 * Lowers the priority of a process below that of this one. It may be this process itself.
 * @param steps  of nice(1). Each gives a tenth less of a contended core
 * Returns the new priority, 19 at most
 * Errors  those of the system, such as one without priorities
 */
export function lowerPriority(pid: number, steps: number): number {
  const priority = Math.min(LOWEST_PRIORITY, getPriority() + steps);
  setPriority(pid, priority);
  return priority;
}

/**
 * Lowers the priority of a process spawned `detached`, of its session, and of all that it starts later, so that their
 * threads do not take the cores from more urgent work.
 * Errors  none; a system without priorities runs the process as it is
 */
export function lowerGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    const priority = lowerPriority(pid, GROUP_STEPS);
    // Linux may share the time among sessions first, whatever the priorities of their processes.
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // The process has ended, or the system has no priorities, or none of sessions.
  }
}

/** Memory of the machine, or of this process's control group. Unit  bytes */
export function memoryOfProcess(): number {
  const group = process.constrainedMemory();
  return group > 0 ? Math.min(group, totalmem()) : totalmem();
}

/** Identity of a process. The id alone may belong to another process after a restart. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process; absent if the system does not report it. */
  readonly startTicks?: string;
}

/** Indices in the result of statusOf. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** Whether exactly this process still runs. */
export function isAlive({ pid, startTicks }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const status = statusOf(pid);
  if (status === undefined) return true;
  // A killed process stays a zombie until its parent reaps it, in some containers for ever.
  const isZombie = status[STATE_FIELD] === 'Z' || status[STATE_FIELD] === 'X';
  return !isZombie && (startTicks === undefined || startTicks === status[START_FIELD]);
}

export function processIdentity(pid: number): ProcessIdentity {
  const startTicks = statusOf(pid)?.[START_FIELD];
  return startTicks === undefined ? { pid } : { pid, startTicks };
}

/** Fields of /proc/<pid>/stat from the third on; undefined if the system has no such file. */
function statusOf(pid: number): readonly string[] | undefined {
  try {
    // The second field, the process's name in parentheses, may contain blanks.
    const status = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return status.slice(status.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/**
 * Locks the folder for this process until the returned function is called. Takes over the lock of a killed process.
 * @param work work in the folder, as the subject of a sentence
 * Errors  Refusal `build_running` that names the process; those of the file system
 */
export function lockFolder(
  folder: string,
  work = 'This database is being built',
): Promise<() => Promise<void>> {
  return holdLock(
    join(folder, LOCK_FILE),
    (pid) => new Refusal('build_running', `${work} by process ${pid}; wait until it is done.`, { pid }),
  );
}

/**
 * Creates the lock file for this process until the returned function is called. Takes over the lock of an ended
 * process.
 * @param refuse  refusal that names the process which holds the lock
 * Errors  `refuse`; Refusal `build_running` if the lock changes hands all the time; those of the file system
 */
export async function holdLock(path: string, refuse: (pid: number) => Refusal): Promise<() => Promise<void>> {
  const own = `${path}.${process.pid}`;
  await writeFile(own, JSON.stringify(processIdentity(process.pid)));
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // A link appears with its content, or fails if a lock exists already.
      if (await succeeds(link(own, path), 'EEXIST')) return () => rm(path, { force: true });
      await removeStale(path, refuse);
    }
    throw new Refusal('build_running', `The lock ${path} changes hands too fast; try again.`);
  } finally {
    await rm(own, { force: true });
  }
}

async function removeStale(path: string, refuse: (pid: number) => Refusal): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const holder = holderIn(text);
  if (holder !== undefined && isAlive(holder)) throw refuse(holder.pid);
  // The rename makes one process the owner of the stale lock. If the file was already a new lock, it is put back.
  const aside = `${path}.stale.${process.pid}`;
  if (!(await succeeds(rename(path, aside), 'ENOENT'))) return;
  if ((await readFile(aside, 'utf8')) !== text) await succeeds(link(aside, path), 'EEXIST');
  await rm(aside, { force: true });
}

/** Returns the holder of a lock; undefined for an empty lock after a crash of the machine, whose holder has ended. */
function holderIn(text: string): ProcessIdentity | undefined {
  try {
    const holder = JSON.parse(text) as Partial<ProcessIdentity> | null;
    return Number.isInteger(holder?.pid) ? (holder as ProcessIdentity) : undefined;
  } catch {
    return undefined;
  }
}

async function succeeds(action: Promise<unknown>, expectedCode: string): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === expectedCode) return false;
    throw cause;
  }
}
