import { useEffect, useRef } from 'preact/hooks';
import { count } from '../parts/format.js';
import { useWidth } from '../parts/media.js';
import type { Msa, MsaSummary } from './alignment.js';
import { inksOf } from './inks.js';
import { identityColour, paintDepth } from './paint.js';

const HEIGHT = 150;

/** Plots the number of rows with a residue by column, and the identity of the rows with the query. */
export function DepthPlot({ msa, summary }: { readonly msa: Msa; readonly summary: MsaSummary }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(canvas);
  useEffect(() => {
    if (canvas.current !== null && width > 0)
      paintDepth(canvas.current, msa, summary, inksOf(canvas.current));
  }, [msa, summary, width]);
  const depths = [...summary.depth];
  const least = depths.length === 0 ? 0 : Math.min(...depths);
  return (
    <figure class="chart wide depth">
      <figcaption>
        <h2>Coverage</h2>
        <p class="small muted">
          Between {count(least)} and {count(Math.max(0, ...depths))} rows a column. Rows by identity with the
          query:
          <span class="scale" aria-hidden="true">
            {[0, 0.2, 0.4, 0.6, 0.8, 1].map((identity) => (
              <i key={identity} style={{ background: identityColour(identity) }} />
            ))}
          </span>
          0 to 100 %
        </p>
      </figcaption>
      <canvas
        ref={canvas}
        width={Math.max(1, Math.round(width * devicePixelRatio))}
        height={HEIGHT * devicePixelRatio}
        role="img"
        aria-label={`Coverage of the ${msa.columnCount} columns by ${msa.rowCount} rows`}
      />
    </figure>
  );
}
