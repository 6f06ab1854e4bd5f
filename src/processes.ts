import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { getPriority, hostname, setPriority, totalmem } from 'node:os';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { basename, dirname, join } from 'node:path';
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

/**
 * Identity of a process. The id alone may belong to another process after a restart, in another container and on
 * another machine. Members are absent if the system does not report them. Files of older versions have no place.
 */
export interface ProcessIdentity extends ProcessPlace {
  readonly pid: number;
  /** Clock ticks from boot to the start of the process. */
  readonly startTicks?: string;
}

/** Where the id of a process has a meaning. */
interface ProcessPlace {
  readonly host?: string;
  /** Random id of the running kernel. The containers of a machine share it; a reboot changes it. */
  readonly bootId?: string;
  /** Each container has one of its own, and a new one after each start. */
  readonly pidNamespace?: string;
}

/** `hidden`: the process is or was in another container or on another machine, so that its id says nothing here. */
type ProcessState = 'alive' | 'ended' | 'hidden';

/** Indices in the result of statusOf. */
const STATE_FIELD = 0;
const START_FIELD = 19;

/** Whether exactly this process still runs, in this container. */
export function isAlive(identity: ProcessIdentity): boolean {
  return stateOf(identity) === 'alive';
}

function stateOf({ pid, startTicks, ...place }: ProcessIdentity): ProcessState {
  const here = ownPlace();
  if (place.host !== undefined && place.bootId !== here.bootId) {
    // The machine was started anew, and no process survives that.
    return place.host === here.host ? 'ended' : 'hidden';
  }
  if (place.host !== undefined && place.pidNamespace !== here.pidNamespace) return 'hidden';
  try {
    process.kill(pid, 0);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ESRCH') return 'ended';
  }
  const status = statusOf(pid);
  if (status === undefined) return 'alive';
  // A killed process stays a zombie until its parent reaps it, in some containers for ever.
  const isZombie = status[STATE_FIELD] === 'Z' || status[STATE_FIELD] === 'X';
  const isSame = startTicks === undefined || startTicks === status[START_FIELD];
  return !isZombie && isSame ? 'alive' : 'ended';
}

/** @param pid  of this process, or of one in the same container */
export function processIdentity(pid: number): ProcessIdentity {
  const startTicks = statusOf(pid)?.[START_FIELD];
  return { pid, ...(startTicks !== undefined && { startTicks }), ...ownPlace() };
}

function ownPlace(): ProcessPlace {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    return { host: hostname(), bootId, pidNamespace: readlinkSync('/proc/self/ns/pid') };
  } catch {
    // A system without them has no containers that share a folder.
    return { host: hostname() };
  }
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

/** Content of a lock file. */
interface LockHolder extends ProcessIdentity {
  /** Name of a Unix socket beside the lock, on which the holder listens while it lives. */
  readonly socket?: string;
}

/**
 * Locks the folder for this process until the returned function is called. Takes over the lock of a killed process.
 * @param work work in the folder, as the subject of a sentence
 * Errors  Refusal `build_running` that names the process; those of holdLock
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
 * process, also of one in another container of this machine.
 * @param refuse  refusal that names the process which holds the lock
 * Errors  `refuse`; its code with another message if the holder cannot be checked from here; Refusal `build_running` if
 *         the lock changes hands all the time; those of the file system
 */
export async function holdLock(path: string, refuse: (pid: number) => Refusal): Promise<() => Promise<void>> {
  // Processes of two containers may have the same id.
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  const socket = await listenAt(`${own}.alive`);
  const close = (): Promise<void> =>
    new Promise((resolve) => (socket ? socket.close(() => resolve()) : resolve()));
  let isHeld = false;
  try {
    const holder: LockHolder = {
      ...processIdentity(process.pid),
      ...(socket && { socket: `${basename(own)}.alive` }),
    };
    await writeFile(own, JSON.stringify(holder));
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      // A link appears with its content, or fails if a lock exists already.
      isHeld = await succeeds(link(own, path), 'EEXIST');
      if (isHeld) return () => rm(path, { force: true }).finally(close);
      await removeStale(path, refuse);
    }
    throw new Refusal('build_running', `The lock ${path} changes hands too fast; try again.`);
  } finally {
    await rm(own, { force: true });
    if (!isHeld) await close();
  }
}

async function removeStale(path: string, refuse: (pid: number) => Refusal): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return;
  const holder = holderIn(text);
  if (holder !== undefined) await requireEnded(path, holder, refuse);
  // The rename makes one process the owner of the stale lock. If the file was already a new lock, it is put back.
  const aside = `${path}.stale.${process.pid}.${randomBytes(4).toString('hex')}`;
  if (!(await succeeds(rename(path, aside), 'ENOENT'))) return;
  const isStale = (await readFile(aside, 'utf8')) === text;
  if (!isStale) await succeeds(link(aside, path), 'EEXIST');
  await rm(aside, { force: true });
  if (isStale && holder?.socket !== undefined) await rm(socketOf(path, holder.socket), { force: true });
}

/**
 * Refuses to take over a lock unless its holder has ended.
 * @param path  of the lock file
 * Errors  `refuse` if the holder lives; its code with another message if the holder cannot be checked from here
 */
export async function requireEnded(
  path: string,
  holder: LockHolder,
  refuse: (pid: number) => Refusal,
): Promise<void> {
  const { pid, host, bootId, socket } = holder;
  let state = stateOf(holder);
  // A container that is started again has another namespace, and often another host name. Its kernel is the same.
  if (state === 'hidden' && socket !== undefined && bootId === ownPlace().bootId) {
    state = await stateAt(socketOf(path, socket));
  }
  if (state === 'ended') return;
  const refusal = refuse(pid);
  if (state === 'alive') throw refusal;
  throw new Refusal(
    refusal.code,
    `${path} is the lock of process ${pid} on the host ${host}, in another container or on another machine, so that ` +
      'this process cannot check whether it still runs. If it has ended, delete that file and run the command again.',
    refusal.details,
  );
}

function socketOf(path: string, name: string): string {
  return join(dirname(path), basename(name));
}

/** Length of a path that fits into the address of a Unix socket. Node would cut a longer one off. */
const SOCKET_PATH_MAX_BYTES = 107;

/**
 * Listens on a Unix socket, which the kernel closes with the process. Processes of other containers can connect to it.
 * Returns undefined where the path is too long or the file system has no sockets.
 */
function listenAt(path: string): Promise<Server | undefined> {
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX_BYTES) return Promise.resolve(undefined);
  const server = createServer((connection) => connection.on('error', () => undefined).destroy()).unref();
  return new Promise((resolve) => {
    server.on('error', () => resolve(undefined));
    server.listen(path, () => resolve(server));
  });
}

/** State of the process that has listened on a Unix socket, on the same kernel. */
function stateAt(path: string): Promise<ProcessState> {
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX_BYTES) return Promise.resolve('hidden');
  return new Promise((resolve) => {
    const connection = connect(path, () => {
      connection.destroy();
      resolve('alive');
    });
    connection.on('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code === 'ECONNREFUSED' ? 'ended' : code === 'EAGAIN' ? 'alive' : 'hidden'),
    );
  });
}

/** Returns the holder of a lock; undefined for an empty lock after a crash of the machine, whose holder has ended. */
function holderIn(text: string): LockHolder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<LockHolder> | null;
    return Number.isInteger(holder?.pid) ? (holder as LockHolder) : undefined;
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
