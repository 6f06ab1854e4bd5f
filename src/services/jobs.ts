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

/** Progress of a command within its present stage. */
export interface JobStage {
  /** A word or two for the operator, such as `Encoding`. */
  readonly stage: string;
  readonly unit: string;
  /** In units of the stage. Starts above 0 if an earlier run had done a part. */
  readonly done: number;
  readonly total: number;
  /** All tasks of divided work, by number. */
  readonly tasks?: readonly JobTask[];
}

/** Progress of one task, in the units of its stage. */
export interface JobTask {
  readonly done: number;
  readonly total: number;
}

/** A command that works for minutes or days, such as `index build`, and its subject. */
export interface JobName {
  readonly command: string;
  readonly database: string;
}

/** Report of a running command. Times are RFC 3339. */
export interface JobReport extends JobName, JobStage {
  readonly pid: number;
  readonly startedAt: string;
  readonly updatedAt: string;
  /** Estimated seconds left of the stage at its pace so far; absent before a pace is known. */
  readonly leftSeconds?: number;
}

/** Content of the file. The report is valid only while its process, the holder, is alive. */
interface WrittenJob extends JobReport {
  readonly holder: ProcessIdentity;
}

export interface Job {
  update(stage: JobStage): void;
  /** Removes the report when the command has ended. */
  close(): void;
}

const INTERVAL_MS = 1_000;
const FILE_NAME = /^\d{1,10}\.json$/;
const FILE_MAX_BYTES = 256 * 1024;
const JOBS_MAX_COUNT = 64;
/** With more tasks, only their sum is reported, so that the file stays small. */
const TASKS_MAX_COUNT = 1_024;
/** Shortest duration from which a pace is computed. */
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

/** Reports of commands that run on this machine, longest running first. Killed commands are left out. */
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

/** Removes the files of ended processes. */
function removeStale(folder: string): void {
  for (const { path, job } of readJobs(folder)) {
    if (job === undefined || !isAlive(job.holder)) rmSync(path, { force: true });
  }
}

/** The job of each file; undefined if the file is no valid report. */
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
