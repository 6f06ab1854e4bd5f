import { useId } from 'preact/hooks';
import { count, counted, eValue } from '../../parts/format.js';
import { surprise } from '../colour.js';
import type { Hit } from '../hits.js';

interface ScoreChartProps {
  readonly hits: readonly Hit[];
  /** Largest E-value shown, as a decimal logarithm; undefined for all. */
  readonly maxLog10E: number | undefined;
  readonly onMax: (maxLog10E: number | undefined) => void;
}

const WIDTH = 420;
const HEIGHT = 132;
const BOTTOM = 18;
const BINS = 42;
/** Lower end of the axis. Smaller E-values are certain and share the last bin. */
const LEAST_LOG10E = -30;

/** Draws a histogram of the E-values, with a threshold that selects the hits and a sentence that explains it. */
export function ScoreChart({ hits, maxLog10E, onMax }: ScoreChartProps) {
  const slider = useId();
  const logs = hits.flatMap(({ logE }) => (logE === undefined ? [] : [logE / Math.LN10]));
  if (logs.length === 0) return <NoScores hits={hits} />;
  const low = Math.max(LEAST_LOG10E, Math.floor(Math.min(...logs)));
  const high = Math.max(1, Math.ceil(Math.max(...logs)));
  const x = (log10: number): number => (WIDTH * (high - Math.max(low, log10))) / (high - low);
  const bins = binned(logs, low, high);
  const most = Math.max(...bins);
  const limit = maxLog10E ?? high;
  return (
    <figure class="chart">
      <figcaption>
        <h3>Scores</h3>
        <p class="small">{sentence(logs, maxLog10E)}</p>
      </figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Number of hits by E-value">
        {bins.map((number, bin) => {
          const log10 = high - ((bin + 0.5) * (high - low)) / BINS;
          const height =
            number === 0 ? 0 : 2 + ((HEIGHT - BOTTOM - 10) * Math.sqrt(number)) / Math.sqrt(most);
          const step = surprise({ logE: (bin === BINS - 1 ? low : log10) * Math.LN10 });
          return (
            <Bar
              key={bin}
              bin={bin}
              height={height}
              ink={`s${step} ${log10 > limit ? 'faint' : ''}`}
              title={`${counted(number, 'hit')} around E = ${eValue(log10 * Math.LN10)}`}
            />
          );
        })}
        <Axis />
        {ticks(low, high).map((log10) => (
          <text key={log10} x={x(log10)} y={HEIGHT - 4} text-anchor="middle" class="tick">
            {log10 < -3 ? `1e${log10}` : eValue(log10 * Math.LN10)}
          </text>
        ))}
        <line x1={x(limit)} x2={x(limit)} y1={2} y2={HEIGHT - BOTTOM} class="threshold" />
      </svg>
      <label class="small muted" for={slider}>
        {maxLog10E === undefined ? 'Show all E-values' : `Show E-values up to ${eValue(limit * Math.LN10)}`}
      </label>
      <input
        id={slider}
        type="range"
        min={-high}
        max={-low}
        step={0.5}
        value={-limit}
        aria-valuetext={`E up to ${eValue(limit * Math.LN10)}`}
        onInput={({ currentTarget: { value } }) => {
          const next = -Number(value);
          onMax(next >= high ? undefined : next);
        }}
      />
    </figure>
  );
}

function binned(logs: readonly number[], low: number, high: number): readonly number[] {
  const bins = new Array<number>(BINS).fill(0);
  for (const log of logs) {
    const share = (high - Math.max(low, log)) / (high - low);
    bins[Math.min(BINS - 1, Math.floor(share * BINS))] += 1;
  }
  return bins;
}

interface BarProps {
  readonly bin: number;
  readonly height: number;
  /** CSS classes of the colour. */
  readonly ink: string;
  readonly title: string;
}

function Bar({ bin, height, ink, title }: BarProps) {
  return (
    <rect
      x={(bin * WIDTH) / BINS + 0.75}
      y={HEIGHT - BOTTOM - height}
      width={WIDTH / BINS - 1.5}
      height={height}
      rx={1.5}
      class={`fill ${ink}`}
    >
      <title>{title}</title>
    </rect>
  );
}

function Axis() {
  return <line x1={0} x2={WIDTH} y1={HEIGHT - BOTTOM} y2={HEIGHT - BOTTOM} class="axis" />;
}

/** Histogram of the distances of hits without E-values. */
function NoScores({ hits }: { readonly hits: readonly Hit[] }) {
  const distances = hits.map(({ distance }) => Math.max(0, distance));
  const [low, high] = [Math.min(...distances), Math.max(...distances)];
  const bins = new Array<number>(BINS).fill(0);
  for (const distance of distances) {
    const share = high === low ? 0 : (distance - low) / (high - low);
    bins[Math.min(BINS - 1, Math.floor(share * BINS))] += 1;
  }
  const most = Math.max(1, ...bins);
  return (
    <figure class="chart">
      <figcaption>
        <h3>Distances</h3>
        <p class="small">
          These hits have no E-values: the database was not calibrated, or has too few proteins of these
          lengths. 0 is the same protein; relatives often stand apart to the left of the many.
        </p>
      </figcaption>
      {hits.length > 0 && (
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="Number of hits by distance">
          {bins.map((number, bin) => {
            const height = ((HEIGHT - BOTTOM - 10) * Math.sqrt(number)) / Math.sqrt(most);
            return <Bar key={bin} bin={bin} height={height} ink="s1" title={counted(number, 'hit')} />;
          })}
          <Axis />
          <text x={0} y={HEIGHT - 4} class="tick">
            {low.toFixed(2)}
          </text>
          <text x={WIDTH} y={HEIGHT - 4} text-anchor="end" class="tick">
            {high.toFixed(2)}
          </text>
        </svg>
      )}
    </figure>
  );
}

function ticks(low: number, high: number): readonly number[] {
  const step = [1, 2, 3, 5, 10, 20].find((each) => (high - low) / each <= 6) ?? 20;
  const first = Math.ceil((low + step / 3) / step) * step;
  const list: number[] = [];
  for (let at = first; at <= high - step / 3; at += step) list.push(at);
  return list;
}

/** Explains the E-value threshold for the listed hits, in one sentence. */
function sentence(logs: readonly number[], maxLog10E: number | undefined): string {
  if (maxLog10E === undefined) {
    const sure = logs.filter((log) => log <= -3).length;
    return (
      `${count(sure)} of ${counted(logs.length, 'hit')} ${sure === 1 ? 'has' : 'have'} E up to 0.001: chance alone ` +
      'lists one unrelated protein in 1,000 such searches.'
    );
  }
  const value = eValue(maxLog10E * Math.LN10);
  const list = `${counted(logs.filter((log) => log <= maxLog10E).length, 'hit')} with E up to ${value}. Chance alone`;
  if (maxLog10E > 0) return `${list} is expected to list about ${value} unrelated proteins.`;
  return `${list} lists an unrelated protein ${howOften(maxLog10E)}.`;
}

function howOften(log10E: number): string {
  if (log10E === 0) return 'about once in every search';
  if (log10E < -6) return 'practically never';
  return `once in ${count(Math.round(10 ** -log10E))} such searches`;
}
