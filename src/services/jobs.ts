import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { isAlive, processIdentity, type ProcessIdentity } from '../processes.js';
import { realWorld, type World } from '../world.js';

/** How far a command has come in what it does at the moment. */
export interface JobStage {
  /** In a word or two for people: `Encoding`. */
  readonly stage: string;
  readonly unit: string;
  /** In units; it may start above 0 where an earlier run had done a part. */
  readonly done: number;
  readonly total: number;
  /** Of work that is divided among tasks: all of them, by number. */
  readonly tasks?: readonly JobTask[];
}

/** One task's part, in the units of its stage. */
export interface JobTask {
  readonly done: number;
  readonly total: number;
}

/** A command that works for minutes or days, such as `index build`, and what on. */
export interface JobName {
  readonly command: string;
  readonly database: string;
}

/** What a command at work says of itself. Times are RFC 3339. */
export interface JobReport extends JobName, JobStage {
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  /** Seconds that are left of the stage at its pace so far; absent where it has none yet. */
  readonly leftSeconds?: number;
}

/** The file's content: a report, and who is alive as long as it is true. */
interface WrittenJob extends JobReport {
  readonly holder: ProcessIdentity;
}

export interface Job {
  update(stage: JobStage): void;
  /** The command is done with it, however it ended. */
  close(): void;
}

const INTERVAL_MS = 1_000;
const FILE_NAME = /^\d{1,10}\.json$/;
const FILE_MAX_BYTES = 256 * 1024;
const JOBS_MAX_COUNT = 64;
/** Of more tasks, their sum alone is told: the file stays small. */
const TASKS_MAX_COUNT = 1_024;
/** A pace of less is no pace. */
const PACE_MIN_MS = 2_000;

/**
 * Publishes the progress of a command for the server on this machine, in a small file beside the control state. The
 * file is at most a second old, and readers ignore it after the process has ended. A failure to write it does not stop
 * the job.
 */
export function openJob(
  dataFolder: string,
  { command, database }: JobName,
  world: Pick<World, 'now' | 'monotonicMs'> = realWorld,
): Job {
  const folder = jobsFolder(dataFolder);
  const path = join(folder, `${process.pid}.json`);
  const startedAt = world.now().toISOString();
  const holder = processIdentity(process.pid);
  let stage: (JobStage & { readonly atMs: number }) | undefined;
  let writtenAtMs = -Infinity;
  attempt(() => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    removeStale(folder);
  });
  return {
    update(state) {
      const atMs = world.monotonicMs();
      const isNext = stage?.stage !== state.stage;
      if (isNext) stage = { ...state, atMs };
      if (!isNext && atMs - writtenAtMs < INTERVAL_MS) return;
      writtenAtMs = atMs;
      const { tasks, ...rest } = state;
      const job: WrittenJob = {
        ...{ command, database, pid: process.pid, holder, startedAt },
        ...rest,
        ...(tasks !== undefined && tasks.length <= TASKS_MAX_COUNT && { tasks }),
        ...leftOf(state, stage!, atMs),
        updatedAt: world.now().toISOString(),
      };
      attempt(() => {
        writeFileSync(`${path}.new`, JSON.stringify(job), { mode: 0o600 });
        renameSync(`${path}.new`, path);
      });
    },
    close: () => attempt(() => rmSync(path, { force: true })),
  };
}

/** What commands on this machine are at, the longest at work first; those that were killed are left out. */
export function listJobs(dataFolder: string): readonly JobReport[] {
  return readJobs(jobsFolder(dataFolder))
    .flatMap(({ job }) => (job !== undefined && isAlive(job.holder) ? [job] : []))
    .sort((a, b) => (a.startedAt < b.startedAt ? -1 : 1))
    .map(({ holder: _, ...report }) => report);
}

function leftOf(
  { done, total }: JobStage,
  first: JobStage & { readonly atMs: number },
  nowMs: number,
): Pick<JobReport, 'leftSeconds'> {
  const [tookMs, gained] = [nowMs - first.atMs, done - first.done];
  if (tookMs < PACE_MIN_MS || gained <= 0) return {};
  return { leftSeconds: Math.round(((total - done) * tookMs) / gained / 1000) };
}

function jobsFolder(dataFolder: string): string {
  return join(dataFolder, 'jobs');
}

/** What processes that have gone left behind. */
function removeStale(folder: string): void {
  for (const { path, job } of readJobs(folder)) {
    if (job === undefined || !isAlive(job.holder)) rmSync(path, { force: true });
  }
}

/** Of each file its job; undefined where it says nothing that a job would say. */
function readJobs(
  folder: string,
): readonly { readonly path: string; readonly job: WrittenJob | undefined }[] {
  let names: readonly string[] = [];
  attempt(() => {
    names = readdirSync(folder).filter((name) => FILE_NAME.test(name));
  });
  return names.slice(0, JOBS_MAX_COUNT).map((name) => {
    const path = join(folder, name);
    let job: WrittenJob | undefined;
    attempt(() => {
      const read: unknown = JSON.parse(readBounded(path));
      if (isJob(read)) job = read;
    });
    return { path, job };
  });
}

function readBounded(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(FILE_MAX_BYTES);
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, bytes.length, 0));
  } finally {
    closeSync(file);
  }
}

function isJob(value: unknown): value is WrittenJob {
  if (typeof value !== 'object' || value === null) return false;
  const job = value as Partial<Record<keyof WrittenJob, unknown>>;
  const { command, database, stage, unit, startedAt, updatedAt } = job;
  const isText = [command, database, stage, unit, startedAt, updatedAt].every(
    (each) => typeof each === 'string',
  );
  const isCounted = [job.pid, job.done, job.total].every((each) => Number.isFinite(each));
  const isPaced = job.leftSeconds === undefined || Number.isFinite(job.leftSeconds);
  const { tasks = [] } = job;
  const isDivided =
    Array.isArray(tasks) &&
    tasks.every((task?: Partial<JobTask>) => Number.isFinite(task?.done) && Number.isFinite(task?.total));
  const pid = (job.holder as Partial<ProcessIdentity> | undefined)?.pid;
  return isText && isCounted && isPaced && isDivided && Number.isInteger(pid) && (pid as number) > 0;
}

/** Ignores failures such as a full disk or a read-only folder, because progress is optional. */
function attempt(action: () => void): void {
  try {
    action();
  } catch {
    return;
  }
}
