import type { Run } from '../../clients/typescript/types/runs.js';
import { count, seconds } from '../parts/format.js';
import { ProgressBar } from '../parts/progress-bar.js';
import { isOver } from './run-state.js';

export function RunProgress({ run }: { readonly run: Run }) {
  const { status, progress } = run;
  const { fraction, done_count: done, total_count: total, seconds_left: left } = progress;
  const share = status === 'completed' ? 1 : fraction;
  const words = [
    `${count(done)} of ${count(total)}`,
    ...(!isOver(run) && left !== undefined ? [`about ${seconds(left)} left`] : []),
    ...(!isOver(run) ? [progress.stage.replaceAll('_', ' ')] : []),
  ];
  return <ProgressBar share={share} status={status} words={words} />;
}

export function StatusBadge({ status }: Pick<Run, 'status'>) {
  return <span class={`badge ${status}`}>{status}</span>;
}
