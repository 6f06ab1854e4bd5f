import type { Run } from '../../clients/typescript/types/runs.js';
import { count, seconds } from '../parts/format.js';
import { isOver } from './run-state.js';

/** How far a run is, in a bar and in words. */
export function RunProgress({ run }: { readonly run: Run }) {
  const { status, progress } = run;
  const { fraction, done_count: done, total_count: total, seconds_left: left } = progress;
  const share = status === 'completed' ? 1 : fraction;
  const words = [
    `${count(done)} of ${count(total)}`,
    ...(!isOver(run) && left !== undefined ? [`about ${seconds(left)} left`] : []),
    ...(!isOver(run) ? [progress.stage.replaceAll('_', ' ')] : []),
  ];
  return (
    <div class="progress">
      <div
        class="bar"
        role="progressbar"
        aria-label="Progress"
        aria-valuenow={Math.round(100 * share)}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <i class={status} style={{ width: `${100 * share}%` }} />
      </div>
      <p class="small muted">{words.join(' · ')}</p>
    </div>
  );
}

export function StatusBadge({ status }: Pick<Run, 'status'>) {
  return <span class={`badge ${status}`}>{status}</span>;
}
