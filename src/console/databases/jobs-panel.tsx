import { useEffect, useRef } from 'preact/hooks';
import { ago, count, percent, seconds } from '../parts/format.js';
import { usePolled } from '../parts/load.js';
import { ProgressBar } from '../parts/progress-bar.js';
import { ask } from '../server/server.js';

/** A command in progress on the server's machine, as the server's page `jobs` returns it. */
interface Job {
  readonly pid: number;
  readonly command: string;
  readonly database: string;
  readonly stage: string;
  readonly unit: string;
  readonly done: number;
  readonly total: number;
  readonly tasks?: readonly Part[];
  readonly startedAt: string;
  readonly updatedAt: string;
  readonly leftSeconds?: number;
}

interface Part {
  readonly done: number;
  readonly total: number;
}

const POLL_INTERVAL_MS = 2_000;
/** A command without progress for longer is shown as silent. */
const SILENT_MS = 120_000;

/**
 * Lists builds, calibrations and batches that the command line runs. Renders nothing without any.
 * @param onEnded called when a command ends
 */
export function JobsPanel({ onEnded }: { readonly onEnded?: () => void }) {
  const polled = usePolled(
    (signal) => ask<{ readonly jobs: readonly Job[] }>('GET', 'jobs', undefined, signal),
    POLL_INTERVAL_MS,
  );
  const jobs = polled?.jobs ?? [];
  const jobPids = useRef<readonly number[]>([]);
  useEffect(() => {
    const pids = jobs.map(({ pid }) => pid);
    if (jobPids.current.some((pid) => !pids.includes(pid))) onEnded?.();
    jobPids.current = pids;
  }, [polled]);
  if (jobs.length === 0) return null;
  return (
    <section>
      <h2>Running on the command line</h2>
      <ul class="plain jobs">
        {jobs.map((job) => (
          <li key={job.pid}>
            <p>
              <b>{job.database}</b> <code>gloaming {job.command}</code>{' '}
              <span class="muted small">
                begun {ago(job.startedAt)}, process {job.pid}
              </span>
            </p>
            <ProgressBar share={shareOf(job)} words={wordsOf(job)} />
            {job.tasks !== undefined && <Tasks tasks={job.tasks} />}
          </li>
        ))}
      </ul>
    </section>
  );
}

function wordsOf({ stage, unit, done, total, leftSeconds, updatedAt }: Job): readonly string[] {
  const isSilent = Date.now() - Date.parse(updatedAt) > SILENT_MS;
  return [
    stage,
    `${count(done)} of ${count(total)} ${unit}`,
    ...(leftSeconds === undefined || isSilent ? [] : [`about ${seconds(leftSeconds)} left`]),
    ...(isSilent ? [`no progress since ${ago(updatedAt)}`] : []),
  ];
}

/** Draws one cell a task. The filled part of the cell is the finished share. */
function Tasks({ tasks }: { readonly tasks: readonly Part[] }) {
  const ended = tasks.filter((task) => shareOf(task) === 1).length;
  return (
    <>
      <p class="small muted">
        {count(ended)} of {count(tasks.length)} tasks done
      </p>
      <ol class="tasks" aria-label="Tasks">
        {tasks.map((task, at) => (
          <li key={at} title={`Task ${at}: ${percent(shareOf(task))}`}>
            <i style={{ width: `${100 * shareOf(task)}%` }} />
          </li>
        ))}
      </ol>
    </>
  );
}

function shareOf({ done, total }: Part): number {
  return total === 0 ? 1 : Math.min(1, done / total);
}
