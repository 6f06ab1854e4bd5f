interface ProgressBarProps {
  /** 0..1 */
  readonly share: number;
  /** Final status; absent while the work goes on. */
  readonly status?: string;
  readonly words: readonly string[];
}

/** Shows progress as a bar and in words. */
export function ProgressBar({ share, status, words }: ProgressBarProps) {
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
