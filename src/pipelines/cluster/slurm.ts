import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Fault, Refusal } from '../../errors.js';

/** An array job: one command for all tasks. The task's number is its last argument. */
export interface ArrayJob {
  readonly name: string;
  readonly command: readonly string[];
  /** Variables of the tasks beside those that they inherit. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute path; gets one log file for each task. */
  readonly logFolder: string;
}

/** Options of sbatch, each as its long flag, and the number of tasks. */
export interface SlurmArray {
  readonly options: readonly string[];
  readonly taskCount?: number;
  /** Tasks that may run at once; absent = no limit. */
  readonly atOnce?: number;
}

/** How tasks are started. */
export interface Cluster {
  /** Command line that starts this program, without its arguments. */
  readonly program: readonly string[];
  /** Present where this process submits the tasks and waits; absent where a person submits the script. */
  readonly slurmArray?: SlurmArray;
}

/** Submissions of lost tasks, the first one included. */
const ROUNDS_MAX_COUNT = 5;
/** Interval of polls. The controller is shared with other users. */
const POLL_INTERVAL_MS = 3_000;
/** Failed polls in a row before the wait ends. */
const SILENCES_MAX_COUNT = 200;

/**
 * Writes a script for `sbatch --array=…`. The script holds its own environment and can be submitted from any folder.
 * Errors  Refusal `invalid_option` for a log folder that the syntax of sbatch cannot name
 */
export function batchScript({ name, command, environment, logFolder }: ArrayJob): string {
  if (/[\s%"'\\]/.test(logFolder)) {
    throw new Refusal(
      'invalid_option',
      `Slurm cannot write logs into ${logFolder}: no blank, quote, backslash or % may be in its path.`,
    );
  }
  const exports = Object.entries(environment).map(([key, value]) => `export ${key}=${quoted(value)}`);
  return [
    '#!/bin/bash',
    `#SBATCH --job-name=${name}`,
    `#SBATCH --output=${logFolder}/%A_%a.log`,
    '#SBATCH --requeue',
    '#SBATCH --open-mode=append',
    ...exports,
    '# As many threads as the task was given processors.',
    'if [ -n "$SLURM_CPUS_PER_TASK" ]; then export GLOAMING_THREADS=$SLURM_CPUS_PER_TASK; fi',
    `exec ${command.map(quoted).join(' ')} "$SLURM_ARRAY_TASK_ID"`,
    '',
  ].join('\n');
}

/** Formats task numbers for `--array`: ranges such as `0-63`, single numbers, and the limit of tasks at once. */
export function arrayOf(tasks: readonly number[], atOnce: number | undefined): string {
  const ranges: [number, number][] = [];
  for (const task of tasks) {
    const last = ranges.at(-1);
    if (last?.[1] === task - 1) last[1] = task;
    else ranges.push([task, task]);
  }
  const list = ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
  return atOnce === undefined ? list : `${list}%${atOnce}`;
}

/** Work of an array job. */
export interface ArrayWork {
  /** Path of the script. */
  readonly script: string;
  readonly slurmArray: SlurmArray;
  /** Numbers of unfinished tasks, ascending. */
  readonly missing: () => Promise<readonly number[]>;
  /** Called every few seconds while tasks run. */
  readonly onWait: () => Promise<void>;
  readonly onSubmit: (job: string, taskCount: number) => void;
  readonly signal?: AbortSignal;
}

/**
 * Submits unfinished tasks and waits until all are finished. Tasks that were cancelled or whose node failed are
 * submitted again. An abort cancels the job.
 * Errors  Refusal `tasks_failed` where a whole round finished no task, or the last round left some;
 *         `tool_missing` without Slurm; the signal's reason; Fault where sbatch fails
 */
export async function runArray(work: ArrayWork): Promise<void> {
  let missing = await work.missing();
  for (let round = 1; missing.length > 0; round += 1) {
    const job = await submit(work, missing);
    work.onSubmit(job, missing.length);
    await waitFor(job, work);
    const left = await work.missing();
    if (left.length > 0 && (left.length === missing.length || round === ROUNDS_MAX_COUNT)) {
      throw new Refusal(
        'tasks_failed',
        `${left.length} of ${missing.length} tasks of job ${job} failed; their logs lie beside ${work.script}. ` +
          'The same command submits them again.',
      );
    }
    missing = left;
  }
}

async function submit({ script, slurmArray }: ArrayWork, tasks: readonly number[]): Promise<string> {
  const array = `--array=${arrayOf(tasks, slurmArray.atOnce)}`;
  const answer = await ask('sbatch', ['--parsable', ...slurmArray.options, array, script]);
  // With several clusters, Slurm's output is `number;cluster`.
  const [job] = answer.trim().split(';');
  if (!/^\d+$/.test(job)) throw new Fault(`sbatch answered with no job: ${answer.slice(0, 200)}`);
  return job;
}

async function waitFor(job: string, { signal, onWait }: ArrayWork): Promise<void> {
  let silences = 0;
  try {
    while (silences < SILENCES_MAX_COUNT) {
      const queued = await ask('squeue', ['--noheader', `--jobs=${job}`, '--format=%i']).catch(
        (cause: Error) => cause,
      );
      // An ended job is first absent from the list, and later unknown.
      if (queued === '' || (queued instanceof Error && queued.message.includes('Invalid job id'))) return;
      silences = queued instanceof Error ? silences + 1 : 0;
      await onWait();
      await setTimeout(POLL_INTERVAL_MS, undefined, { signal });
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw cause;
  } finally {
    if (signal?.aborted) await ask('scancel', [job]);
  }
  throw new Fault(`Slurm's controller did not answer any more; job ${job} may still run.`);
}

/** Runs a command of Slurm and returns its output. Errors  Refusal `tool_missing`; Fault with its error text */
async function ask(command: 'sbatch' | 'squeue' | 'scancel', args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args)).stdout;
  } catch (cause) {
    const { code, stderr, message } = cause as Error & { readonly code?: unknown; readonly stderr?: string };
    if (code === 'ENOENT') {
      throw new Refusal(
        'tool_missing',
        `${command} is not installed here (Debian and Ubuntu: apt-get install slurm-client).`,
      );
    }
    throw new Fault(`${command} failed: ${(stderr ?? message).trim().slice(-1_000)}`, { cause });
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Names the task of this process. Slurm never runs one task twice at once. Outside Slurm the name is the host's, so
 * that a repeated task finds its folder again.
 */
export function taskName(environment: Environment): string {
  return inFileName(slurmTask(environment) ?? `on-${hostname()}`);
}

/** Name for temporary files of this process, which no other running process has: outside Slurm it is random. */
export function writerName(environment: Environment): string {
  return inFileName(slurmTask(environment) ?? `on-${hostname()}-${randomBytes(4).toString('hex')}`);
}

function slurmTask({ SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task }: Environment): string | undefined {
  return job === undefined ? undefined : `${job}_${task ?? ''}`;
}

function inFileName(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '-');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
