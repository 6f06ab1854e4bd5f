import { SURPRISES } from '../colour.js';

/** Explains the colours of dots by E-value. @param words  what else the drawing shows */
export function SurpriseLegend({ words }: { readonly words: string }) {
  return (
    <p class="dot-legend small muted">
      {SURPRISES.map((meaning, step) => (
        <span key={meaning}>
          <i class={`dot s${step}`} aria-hidden="true" />
          &nbsp;{meaning}
        </span>
      ))}
      <span>{words}</span>
    </p>
  );
}
