import { count, counted, percent } from '../parts/format.js';

/** What the page reads of a calibration's card. */
export interface CalibrationCard {
  readonly sample: {
    readonly protein_count: number;
    readonly pair_count: number;
    readonly connected_pair_count: number;
  };
  readonly bins: readonly CalibrationBin[];
  readonly populations: readonly {
    readonly id: string;
    readonly ratios: readonly {
      readonly probability: number;
      readonly expected: number;
      readonly observed: number;
    }[];
  }[];
}

interface CalibrationBin {
  readonly name: string;
  readonly status: string;
  readonly pair_count: number;
  readonly holdout_kolmogorov_smirnov: number;
  readonly holdout_significance_level: number;
  readonly ceiling: number;
  readonly tail: {
    readonly threshold: number;
    readonly log_exceedance_probability: number;
    readonly lambda: number;
    readonly shape: number;
  };
  readonly observed: readonly { readonly score: number; readonly log_probability: number }[];
}

/** The tail of unrelated pairs, as it was seen and as it was fitted, for each bin of lengths; is it honest? */
export function CalibrationChart({ card }: { readonly card: CalibrationCard }) {
  const { sample, bins, populations } = card;
  const good = bins.filter(({ status }) => status === 'qualified').length;
  return (
    <div class="calibration">
      <p>
        {count(sample.pair_count)} unrelated pairs of {counted(sample.protein_count, 'protein')} of this very
        database were aligned; half of the proteins were held out to test the fit. It holds for {good} of{' '}
        {counted(bins.length, 'pair')} of lengths: where it does not, no E-value is given.
      </p>
      <p class="muted">
        Each chart is for pairs of two lengths. A dot says what share of unrelated pairs scored at least as
        well as that; the line is what E-values are taken from.
      </p>
      <div class="bins">
        {bins.map((bin) => (
          <BinChart key={bin.name} bin={bin} />
        ))}
      </div>
      {populations.length > 0 && (
        <>
          <h3>Is it honest?</h3>
          <p class="muted">
            Pairs that the fit has not seen, at each probability: how many were found for each one that was
            claimed. 1 is honest, less is cautious, more is overconfident.
          </p>
          <div class="scroll" tabIndex={0}>
            <table class="plain-table">
              <thead>
                <tr>
                  <th>Pairs of</th>
                  {populations[0].ratios.map(({ probability }) => (
                    <th key={probability} class="number">
                      P = {probability}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {populations.map(({ id, ratios }) => (
                  <tr key={id}>
                    <td>{POPULATIONS[nameOf(id)] ?? nameOf(id).replaceAll('_', ' ')}</td>
                    {ratios.map(({ probability, observed, expected }) => (
                      <td key={probability} class="number">
                        {expected === 0 ? '–' : (observed / expected).toFixed(2)}
                      </td>
                    ))}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </div>
  );
}

/** Pairs that no fit has seen, in words. */
const POPULATIONS: Readonly<Record<string, string>> = {
  heldout_release_pairs: 'Proteins of this database, held out',
  reversed_sequences: 'Proteins against others read backwards',
  shuffled_sequences: 'Proteins against others with shuffled residues',
};

/** `reversed_sequences/1` without how it is made. */
function nameOf(id: string): string {
  return id.split('/')[0] ?? id;
}

const WIDTH = 240;
const HEIGHT = 150;
const LEFT = 30;
const BOTTOM = 20;
/** ln P at the lower edge. */
const LOWEST = -16;

function BinChart({ bin }: { readonly bin: CalibrationBin }) {
  const { tail, observed, name, status } = bin;
  const low = observed[0]?.score ?? tail.threshold;
  const high = Math.max(bin.ceiling, tail.threshold + 1, ...observed.map(({ score }) => score));
  const x = (score: number): number => LEFT + ((score - low) / (high - low)) * (WIDTH - LEFT - 6);
  const y = (logP: number): number => 6 + (Math.max(LOWEST, logP) / LOWEST) * (HEIGHT - BOTTOM - 6);
  const line = Array.from({ length: 31 }, (_, step) => {
    const score = tail.threshold + ((high - tail.threshold) * step) / 30;
    return `${x(score).toFixed(1)},${y(tailLogP(tail, score)).toFixed(1)}`;
  });
  return (
    <figure class={`bin ${status}`}>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`Tail of unrelated pairs of ${name}`}>
        {[0, -2, -4, -6]
          .map((log10) => ({ log10, logP: log10 * Math.LN10 }))
          .map(({ log10, logP }) => (
            <g key={log10}>
              <line x1={LEFT} x2={WIDTH - 6} y1={y(logP)} y2={y(logP)} class="grid" />
              <text x={LEFT - 5} y={y(logP) + 3} text-anchor="end" class="tick">
                {log10 === 0 ? '1' : `1e${log10}`}
              </text>
            </g>
          ))}
        <polyline points={line.join(' ')} class="fitted" />
        {observed.map(({ score, log_probability: logP }) => (
          <circle key={score} cx={x(score)} cy={y(logP)} r={1.8} class="seen" />
        ))}
        <text x={WIDTH - 6} y={HEIGHT - 5} text-anchor="end" class="tick">
          score
        </text>
      </svg>
      <figcaption class="small">
        <b>{lengthsOf(name)} residues</b>: {status === 'qualified' ? 'holds' : status.replaceAll('_', ' ')}
        <br />
        <span class="muted">
          {counted(bin.pair_count, 'pair')}; off by {percent(bin.holdout_kolmogorov_smirnov)} at most on those
          held out
        </span>
      </figcaption>
    </figure>
  );
}

/** `to 135 × 136 to 182` as `up to 135 × 136 to 182`. */
function lengthsOf(name: string): string {
  return name.replaceAll('_', ' ').replaceAll(/(^|× )to /g, '$1up to ');
}

/** ln P(score ≥ x) of a peaks-over-threshold tail. */
function tailLogP(
  { threshold, log_exceedance_probability: base, lambda, shape }: CalibrationBin['tail'],
  score: number,
): number {
  const excess = lambda * (score - threshold);
  const bent = 1 + shape * excess;
  if (Math.abs(shape) < 1e-9) return base - excess;
  return bent <= 0 ? LOWEST : base - Math.log(bent) / shape;
}
