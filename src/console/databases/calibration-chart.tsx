import { count, counted, percent } from '../parts/format.js';

/** Fields of a calibration card that the page reads. Wire names. */
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

/**
 * Draws observed and fitted tail of unrelated pairs for each length bin, and the ratios of observed to claimed counts.
 */
export function CalibrationChart({ card }: { readonly card: CalibrationCard }) {
  const { sample, bins, populations } = card;
  const good = bins.filter(({ status }) => status === 'qualified').length;
  return (
    <div class="calibration">
      <p>
        {count(sample.pair_count)} unrelated pairs of {counted(sample.protein_count, 'protein')} of this
        database were aligned. Half of the proteins were held out to test the fit. The fit passes for {good}{' '}
        of {counted(bins.length, 'pair')} of lengths; the others get no E-value.
      </p>
      <p class="muted">
        Each chart is for one pair of lengths. A dot is the share of unrelated pairs that score at least as
        well. The line is the fit that E-values are computed from.
      </p>
      <div class="bins">
        {bins.map((bin) => (
          <BinChart key={bin.name} bin={bin} />
        ))}
      </div>
      {populations.length > 0 && (
        <>
          <h3>Test on held-out pairs</h3>
          <p class="muted">
            Observed number of unrelated pairs divided by the claimed number, at each probability, for pairs
            that were not used in the fit. 1 is exact, less is cautious, more is overconfident.
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

/** Names of the populations of pairs that were held out from the fit. */
const POPULATIONS: Readonly<Record<string, string>> = {
  heldout_release_pairs: 'Proteins of this database, held out',
  reversed_sequences: 'Proteins against reversed proteins',
  shuffled_sequences: 'Proteins against shuffled proteins',
};

/** Drops the version: `reversed_sequences` of `reversed_sequences/1`. */
function nameOf(id: string): string {
  return id.split('/')[0] ?? id;
}

const WIDTH = 240;
const HEIGHT = 150;
const LEFT = 30;
const BOTTOM = 20;
/** ln P at the lower edge of the chart. */
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
        <b>{lengthsOf(name)} residues</b>:{' '}
        {status === 'qualified' ? 'fit passes' : status.replaceAll('_', ' ')}
        <br />
        <span class="muted">
          {counted(bin.pair_count, 'pair')}; off by at most {percent(bin.holdout_kolmogorov_smirnov)} on
          held-out pairs
        </span>
      </figcaption>
    </figure>
  );
}

/** Writes `to 135 × 136 to 182` as `up to 135 × 136 to 182`. */
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
