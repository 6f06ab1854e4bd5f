import { writeFile } from 'node:fs/promises';
import { Refusal } from '../../errors.js';
import type { PipelineEvents } from '../events/notices.js';
import { sumOf, type TaskProgress } from '../events/progress.js';
import { batchScript, runArray, type ArrayJob, type Cluster } from './slurm.js';

/* Work that is a list of units, each of which leaves a file. Task t of n runs the units at t, t + n, t + 2n … */

export interface TaskOptions extends Cluster {
  /** 1..BATCH_MAX_TASKS. */
  readonly count: number;
}

/** Tasks that still have to run; the script runs one of them. */
export interface PendingTasks {
  readonly missing: readonly number[];
  readonly script: string;
}

export interface DividedWork {
  /** Where the script is written. */
  readonly script: string;
  readonly job: ArrayJob;
  readonly unitCount: number;
  /** Places of the unfinished units, ascending. */
  readonly missingUnits: () => Promise<readonly number[]>;
}

/**
 * Submits the unfinished units to Slurm and waits; undefined where all are finished. Without a submission, writes the
 * script and returns the tasks to submit. Notice: `job_submitted`. Stage: `compare`.
 * Errors  those of batchScript and runArray
 */
export async function runUnitsByTasks(
  { script, job, unitCount, missingUnits }: DividedWork,
  { count, slurmArray }: TaskOptions,
  { signal, onProgress, onNotice }: PipelineEvents,
): Promise<PendingTasks | undefined> {
  const missingTasks = async (): Promise<readonly number[]> => {
    const tasks = (await missingUnits()).map((place) => place % count);
    return [...new Set(tasks)].sort((a, b) => a - b);
  };
  const missing = await missingTasks();
  if (missing.length === 0) return undefined;
  await writeFile(script, batchScript(job));
  if (slurmArray === undefined) return { missing, script };
  const report = async (): Promise<void> => {
    const tasks = tasksOf(unitCount, count, await missingUnits());
    onProgress?.({ stage: 'compare', ...sumOf(tasks), tasks });
  };
  const onSubmit = (submitted: string, taskCount: number): void =>
    onNotice?.({ kind: 'job_submitted', job: submitted, taskCount });
  await runArray({ script, slurmArray, missing: missingTasks, onWait: report, onSubmit, signal });
  await report();
  return undefined;
}

/**
 * Runs the unfinished units in this process. Stage: `compare`.
 * @param run  runs the units at these places, and calls the function after each
 * Errors  those of `run`
 */
export async function runUnitsHere(
  { unitCount, missingUnits }: Pick<DividedWork, 'unitCount' | 'missingUnits'>,
  { onProgress }: PipelineEvents,
  run: (places: readonly number[], onUnit: () => void) => Promise<void>,
): Promise<void> {
  const places = await missingUnits();
  let done = unitCount - places.length;
  onProgress?.({ stage: 'compare', done, total: unitCount });
  if (places.length === 0) return;
  await run(places, () => onProgress?.({ stage: 'compare', done: (done += 1), total: unitCount }));
}

/** Counts the units of each task. @param missing  places of unfinished units */
export function tasksOf(
  unitCount: number,
  taskCount: number,
  missing: readonly number[],
): readonly TaskProgress[] {
  const unfinished = new Uint32Array(taskCount);
  for (const place of missing) unfinished[place % taskCount] += 1;
  return Array.from(unfinished, (count, task) => {
    const total = Math.ceil(Math.max(0, unitCount - task) / taskCount);
    return { done: total - count, total };
  });
}

/** Errors  Refusal `invalid_option` for a task out of range */
export function checkTask(task: number, taskCount: number): void {
  if (Number.isInteger(taskCount) && Number.isInteger(task) && task >= 0 && task < taskCount) return;
  throw new Refusal('invalid_option', `Work of ${taskCount} tasks has the numbers 0 to ${taskCount - 1}.`);
}
