import { execFile } from 'node:child_process';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Fault, Refusal } from '../../errors.js';

/** An array job: one command, started for each of its tasks with the task's number as the last argument. */
export interface ArrayJob {
  readonly name: string;
  readonly command: readonly string[];
  /** Set for the tasks besides what they inherit. */
  readonly environment: Readonly<Record<string, string>>;
  /** Absolute; takes what the tasks print, a file for each. */
  readonly logFolder: string;
}

/** What the operator wants of sbatch: `partition=gpu,time=12:00:00` as its long options, and how many tasks. */
export interface SlurmWish {
  readonly options: readonly string[];
  readonly taskCount?: number;
  /** Tasks that may run at once; absent = as many as Slurm lets. */
  readonly atOnce?: number;
}

/** sbatch's own options that say how its command works, which is ours to say. */
const OURS: ReadonlySet<string> = new Set([
  'wait',
  'parsable',
  'wrap',
  'output',
  'job-name',
  'test-only',
  'help',
]);
/** Rounds in which tasks that were lost are submitted again. */
const ROUNDS_MAX_COUNT = 5;
/** How often the controller is asked, which others ask, too; and how often in a row it may fail to answer. */
const POLL_INTERVAL_MS = 3_000;
const SILENCES_MAX_COUNT = 200;
const OPTION = /^[a-z][a-z-]*(=[^\s,]+)?$/;

/**
 * Reads `--slurm partition=gpu,array=64%8`.
 * Errors  Refusal `invalid_option` for what is no option of sbatch, or is ours to set
 */
export function readSlurmWish(text: string): SlurmWish {
  const options: string[] = [];
  let array: Pick<SlurmWish, 'taskCount' | 'atOnce'> = {};
  for (const part of text.split(',')) {
    const [name] = part.split('=');
    if (!OPTION.test(part) || OURS.has(name)) {
      throw new Refusal(
        'invalid_option',
        `--slurm expects options of sbatch, "partition=gpu,time=12:00:00,array=64"; ${JSON.stringify(part)} is none.`,
      );
    }
    if (name === 'array') array = readArray(part.slice('array='.length));
    else options.push(`--${part}`);
  }
  return { options, ...array };
}

function readArray(text: string): Pick<SlurmWish, 'taskCount' | 'atOnce'> {
  const [, count, atOnce] = /^(\d{1,5})(?:%(\d{1,5}))?$/.exec(text) ?? [];
  if (count === undefined) {
    throw new Refusal(
      'invalid_option',
      `--slurm expects array=<tasks> or array=<tasks>%<at once>; it is ${text}.`,
    );
  }
  return { taskCount: Number(count), ...(atOnce !== undefined && { atOnce: Number(atOnce) }) };
}

/**
 * A script for `sbatch --array=…`: what it needs is written into it, so that it can be submitted from anywhere.
 * Errors  Refusal `invalid_option` for a folder that sbatch's own syntax cannot name
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

/** `0-63`, or single tasks; with how many may run at once. */
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

/** Work that tasks do until none of it is missing. */
export interface ArrayWork {
  /** The script on the disk. */
  readonly script: string;
  readonly wish: SlurmWish;
  /** Tasks that have not done their part, ascending. */
  readonly missing: () => Promise<readonly number[]>;
  /** Called every few seconds while tasks run. */
  readonly onWait: () => Promise<void>;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Submits what is missing and waits until nothing is: tasks that were cancelled or whose node was lost are
 * submitted anew. An abort cancels the job.
 * Errors  Refusal `tasks_failed` where a whole round brought nothing, or too many rounds were not enough;
 *         `tool_missing` without Slurm; the signal's reason; Fault where sbatch fails
 */
export async function runArray(work: ArrayWork): Promise<void> {
  let missing = await work.missing();
  for (let round = 1; missing.length > 0; round += 1) {
    const job = await submit(work, missing);
    work.say(`Job ${job}: ${missing.length} tasks.`);
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

async function submit({ script, wish }: ArrayWork, tasks: readonly number[]): Promise<string> {
  const array = `--array=${arrayOf(tasks, wish.atOnce)}`;
  const said = await ask('sbatch', ['--parsable', ...wish.options, array, script]);
  // With several clusters it is `number;cluster`.
  const [job] = said.trim().split(';');
  if (!/^\d+$/.test(job)) throw new Fault(`sbatch answered with no job: ${said.slice(0, 200)}`);
  return job;
}

async function waitFor(job: string, { signal, onWait }: ArrayWork): Promise<void> {
  let silences = 0;
  try {
    while (silences < SILENCES_MAX_COUNT) {
      const queued = await ask('squeue', ['--noheader', `--jobs=${job}`, '--format=%i']).catch(
        (cause: Error) => cause,
      );
      // Whether it has just ended or is forgotten already.
      if (queued === '' || (queued instanceof Error && queued.message.includes('Invalid job id'))) return;
      silences = queued instanceof Error ? silences + 1 : 0;
      await onWait();
      await setTimeout(POLL_INTERVAL_MS, undefined, { signal });
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw cause;
  } finally {
    if (signal.aborted) await ask('scancel', [job]);
  }
  throw new Fault(`Slurm's controller did not answer any more; job ${job} may still run.`);
}

/** What one of Slurm's commands says. Errors  Refusal `tool_missing`; Fault with its complaint */
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

/**
 * Names the task that this process is: Slurm starts a task again under its name, but never twice at once; elsewhere it
 * is the machine's.
 */
export function taskName(environment: Readonly<Record<string, string | undefined>>): string {
  const { SLURM_ARRAY_JOB_ID: job, SLURM_ARRAY_TASK_ID: task } = environment;
  const name = job === undefined ? `on-${hostname()}` : `${job}_${task ?? ''}`;
  return name.replace(/[^A-Za-z0-9_-]/g, '-');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
