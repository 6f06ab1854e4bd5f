interface ProgressBarProps {
  /** 0..1 */
  readonly share: number;
  /** Of what is over: how it ended. */
  readonly status?: string;
  readonly words: readonly string[];
}

/** How far something is, in a bar and in words. */
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
