import type { BinCard, CalibrationCard } from '../../../significance/card.js';
import { tailLogProbability } from '../../../significance/tail-model.js';

/*
 * A plot of a calibration: ln P against the tail coordinate, one panel per bin. Dots are observed shares of pairs, with
 * a 95 % band for counting error. The line is the fitted tail.
 */

const PANEL_WIDTH = 240;
const PANEL_HEIGHT = 200;
const MARGIN = 36;
const COLUMNS = 4;
/** ln P at the lower edge: about one pair in nine million. */
const LOWEST = -16;
const BAND_DEVIATIONS = 1.96;
/** Distance between two labels of the horizontal axis. Unit: tail coordinate. */
const TICK = 4;

/** Draws the fitted tails and the observed scores of all bins. Returns an SVG document. */
export function calibrationPlot(card: CalibrationCard): string {
  const rows = Math.ceil(card.bins.length / COLUMNS);
  const width = COLUMNS * PANEL_WIDTH;
  const height = rows * PANEL_HEIGHT + MARGIN;
  const panels = card.bins.map((bin, index) => {
    const x = (index % COLUMNS) * PANEL_WIDTH;
    const y = MARGIN + Math.floor(index / COLUMNS) * PANEL_HEIGHT;
    return `<g transform="translate(${x} ${y})">${panel(bin)}</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="10">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<text x="8" y="15" font-size="13">ln P(score ≥ x) against x, the tail coordinate: `,
    `${card.release_id.slice(0, 16)}…, ${card.sample.pair_count} pairs</text>`,
    '<text x="8" y="30">Line: fitted null distribution. Dots: all pairs that no link connects; ',
    'dots above the line indicate undetected homologs. Band: 95 % interval of the counting error</text>',
    ...panels,
    '</svg>\n',
  ].join('\n');
}

function panel(bin: BinCard): string {
  const { threshold, log_exceedance_probability: logExceedanceProbability, lambda, shape } = bin.tail;
  const tail = { threshold, logExceedanceProbability, lambda, shape };
  const low = bin.body[0]?.score ?? threshold;
  const high = Math.max(bin.ceiling, threshold + 1, ...bin.observed.map(({ score }) => score));
  const x = (score: number): number => MARGIN + ((score - low) / (high - low)) * (PANEL_WIDTH - MARGIN - 8);
  const y = (logP: number): number => 8 + (Math.max(LOWEST, logP) / LOWEST) * (PANEL_HEIGHT - MARGIN - 8);
  const steps = Array.from({ length: 41 }, (_, step) => threshold + ((high - threshold) * step) / 40);
  const line = steps
    .map((score) => `${fixed(x(score))},${fixed(y(tailLogProbability(tail, score)))}`)
    .join(' ');
  const dots = bin.observed.map(({ score, log_probability: logP }) => {
    // The standard deviation of a count n is √n, that of its logarithm 1 ÷ √n.
    const deviation = BAND_DEVIATIONS / Math.sqrt(Math.max(1, bin.pair_count * Math.exp(logP)));
    const at = fixed(x(score));
    return (
      `<line x1="${at}" x2="${at}" y1="${fixed(y(Math.min(0, logP + deviation)))}" ` +
      `y2="${fixed(y(logP - deviation))}" stroke="#bbb"/>` +
      `<circle cx="${at}" cy="${fixed(y(logP))}" r="1.6" fill="#333"/>`
    );
  });
  const ticks = [0, -4, -8, -12, -16].map(
    (logP) =>
      `<line x1="${MARGIN}" x2="${PANEL_WIDTH - 8}" y1="${y(logP)}" y2="${y(logP)}" stroke="#eee"/>` +
      `<text x="${MARGIN - 4}" y="${y(logP) + 3}" text-anchor="end">${logP}</text>`,
  );
  const first = TICK * Math.ceil(low / TICK);
  const scoreTicks = Array.from({ length: Math.floor((high - first) / TICK) + 1 }, (_, tick) => {
    const score = first + TICK * tick;
    return `<text x="${fixed(x(score))}" y="${y(LOWEST) + 12}" text-anchor="middle">${score}</text>`;
  });
  return [
    ...ticks,
    ...scoreTicks,
    ...dots,
    `<polyline points="${line}" fill="none" stroke="${bin.status === 'qualified' ? '#0a62a9' : '#c22'}"/>`,
    `<text x="${MARGIN}" y="${PANEL_HEIGHT - MARGIN + 26}">${bin.name}: ${bin.status}, KS ` +
      `${bin.holdout_kolmogorov_smirnov.toFixed(3)}</text>`,
  ].join('\n');
}

function fixed(value: number): string {
  return value.toFixed(1);
}
