import { counted } from '../../parts/format.js';
import { surprise } from '../colour.js';
import type { Hit, ResultSet } from '../hits.js';
import type { ResultTools } from '../tools.js';
import { RangePicker } from './range-picker.js';

interface CoverageChartProps {
  readonly hits: readonly Hit[];
  readonly query: ResultSet['query'];
  readonly onOpen: (id: string) => void;
  /** Searches a stretch of the query; undefined without a server. */
  readonly onRange: ResultTools['onRange'];
}

const WIDTH = 420;
const TOP = 18;
const MAX_ROWS = 30;

/** Draws one bar a hit along the query, coloured by E-value. */
export function CoverageChart({ hits, query, onOpen, onRange }: CoverageChartProps) {
  const queryLength = query.sequence.length;
  const aligned = hits.filter(({ alignment }) => alignment !== undefined);
  if (aligned.length === 0)
    return (
      <figure class="chart">
        <figcaption>
          <h3>Where they align</h3>
          <p class="small">No alignments were requested, or no hit has one.</p>
        </figcaption>
      </figure>
    );
  const rows = aligned.slice(0, MAX_ROWS);
  const pitch = rows.length > 18 ? 4 : 7;
  const height = TOP + rows.length * pitch + 4;
  const x = (residue: number): number => (WIDTH * residue) / queryLength;
  const picture = (
    <svg viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label="Ranges of the query that the hits cover">
      {marks(queryLength).map((residue) => (
        <g key={residue}>
          <line x1={x(residue)} x2={x(residue)} y1={TOP - 4} y2={height} class="grid" />
          <text x={x(residue)} y={TOP - 7} text-anchor={anchor(residue, queryLength)} class="tick">
            {residue === 0 ? 1 : residue}
          </text>
        </g>
      ))}
      {rows.map((hit, row) => {
        const { query_start: start = 0, query_end: end = 0 } = hit.alignment ?? {};
        return (
          <rect
            key={hit.id}
            x={x(start)}
            y={TOP + row * pitch}
            width={Math.max(2, x(end) - x(start))}
            height={pitch - 1.5}
            rx={1}
            class={`fill bar s${surprise(hit)}`}
            onClick={() => onOpen(hit.id)}
          >
            <title>{`${hit.id}: residues ${start + 1} to ${end}`}</title>
          </rect>
        );
      })}
    </svg>
  );
  return (
    <figure class="chart">
      <figcaption>
        <h3>Where they align</h3>
        <p class="small">
          {rows.length < aligned.length ? `The first ${rows.length} of ` : ''}
          {counted(aligned.length, 'aligned hit')} along the {counted(queryLength, 'residue')} of the query.
        </p>
      </figcaption>
      {onRange === undefined ? (
        picture
      ) : (
        <RangePicker queryLength={queryLength} searched={query.range} onRange={onRange}>
          {picture}
        </RangePicker>
      )}
    </figure>
  );
}

function marks(length: number): readonly number[] {
  const step =
    [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000].find((each) => length / each <= 6) ?? 20_000;
  const list = [0];
  for (let at = step; at < length - step / 2; at += step) list.push(at);
  return [...list, length];
}

function anchor(residue: number, length: number): 'start' | 'middle' | 'end' {
  if (residue === 0) return 'start';
  return residue === length ? 'end' : 'middle';
}
