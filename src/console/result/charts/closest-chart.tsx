import { useEffect, useRef, useState } from 'preact/hooks';
import { useLoaded } from '../../parts/load.js';
import { Await } from '../../parts/notice.js';
import { counted } from '../../parts/format.js';
import type { Hit } from '../hits.js';
import type { Closest, ResultTools } from '../tools.js';

interface ClosestChartProps {
  readonly hit: Hit;
  readonly querySequence: string;
  readonly closest: NonNullable<ResultTools['closest']>;
}

/**
 * Draws what the distance is computed from, and no alignment shows: each query residue and the target residue whose
 * vector is closest to its own.
 */
export function ClosestChart({ hit, querySequence, closest }: ClosestChartProps) {
  const loaded = useLoaded((signal) => closest(hit.id, signal), [hit.id, querySequence]);
  const [form, setForm] = useState<'arcs' | 'matrix'>('arcs');
  return (
    <Await loaded={loaded}>
      {(closest) => (
        <div class="closest">
          <p>{sentence(closest)}</p>
          <div class="segments" role="group" aria-label="Form">
            <button type="button" aria-pressed={form === 'arcs'} onClick={() => setForm('arcs')}>
              Links
            </button>
            <button
              type="button"
              aria-pressed={form === 'matrix'}
              disabled={closest.matrix === undefined}
              onClick={() => setForm('matrix')}
            >
              Matrix
            </button>
          </div>
          {form === 'arcs' || closest.matrix === undefined ? (
            <Links closest={closest} hit={hit} querySequence={querySequence} />
          ) : (
            <Matrix closest={closest} matrix={closest.matrix} hit={hit} querySequence={querySequence} />
          )}
        </div>
      )}
    </Await>
  );
}

function isMutual({ query_to_target: there, target_to_query: back }: Closest, residue: number): boolean {
  return back.closest[there.closest[residue]] === residue;
}

function sentence(closest: Closest): string {
  const { query_to_target: there } = closest;
  const mutual = there.closest.filter((_, residue) => isMutual(closest, residue)).length;
  const mean = there.cosine.reduce((sum, cosine) => sum + cosine, 0) / there.cosine.length;
  return (
    `Each residue of the query is linked to the residue of this protein whose context the language model finds ` +
    `most similar. The mean similarity is ${mean.toFixed(2)}, where 1 is identical. ${mutual} of ` +
    `${counted(there.closest.length, 'link')} are mutual: each residue is the other's closest. Homologs give long ` +
    `runs of mutual, parallel links, even where the letters differ.`
  );
}

const WIDTH = 900;
const HEIGHT = 160;

interface FormProps {
  readonly closest: Closest;
  readonly hit: Hit;
  readonly querySequence: string;
}

function Links({ closest, hit, querySequence }: FormProps) {
  const [at, setAt] = useState<number>();
  const { query_to_target: there, query_length: queryLength, target_length: targetLength } = closest;
  const most = Math.max(queryLength, targetLength);
  const x = (residue: number, length: number): number =>
    ((residue + 0.5) * WIDTH * (length / most)) / length + (WIDTH * (1 - length / most)) / 2;
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const share = ((event.clientX - box.left) / box.width) * WIDTH;
    const residue = Math.floor(((share - (WIDTH * (1 - queryLength / most)) / 2) / WIDTH) * most);
    setAt(residue >= 0 && residue < queryLength ? residue : undefined);
  };
  const link = (residue: number): string => {
    const [left, right] = [x(residue, queryLength), x(there.closest[residue], targetLength)];
    return `M${left.toFixed(1)} 6C${left.toFixed(1)} 80 ${right.toFixed(1)} 80 ${right.toFixed(1)} ${HEIGHT - 6}`;
  };
  return (
    <figure class="chart wide">
      <p class="small muted">query, {counted(queryLength, 'residue')}</p>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        class="links"
        role="img"
        aria-label="Links from each residue of the query to its closest residue of the target"
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      >
        {there.closest.map((_, residue) => (
          <path
            key={residue}
            d={link(residue)}
            class={`link ${isMutual(closest, residue) ? 'is-mutual' : ''} ${at === residue ? 'is-at' : ''}`}
            style={{ opacity: at === residue ? 1 : opacityOf(there.cosine[residue]) }}
          />
        ))}
        <rect
          x={x(0, queryLength) - 2}
          y={0}
          width={(WIDTH * queryLength) / most}
          height={6}
          rx={3}
          class="bar-query"
        />
        <rect
          x={x(0, targetLength) - 2}
          y={HEIGHT - 6}
          width={(WIDTH * targetLength) / most}
          height={6}
          rx={3}
          class="bar-target"
        />
      </svg>
      <p class="small muted">
        {hit.id}, {counted(targetLength, 'residue')}
      </p>
      <p class="small muted readout" aria-live="off">
        {at === undefined
          ? 'Point at a residue of the query to follow its link.'
          : describe(closest, at, querySequence, hit)}
      </p>
    </figure>
  );
}

/** Opacity of a link. Links between unrelated proteins have low cosines: below 0.3 a link is hardly visible. */
function opacityOf(cosine: number): number {
  return Math.min(0.85, Math.max(0.04, (cosine - 0.25) * 1.1));
}

function describe(residues: Closest, residue: number, querySequence: string, { sequence }: Hit): string {
  const { closest, cosine } = residues.query_to_target;
  const target = closest[residue];
  const both = isMutual(residues, residue) ? ', mutual' : '';
  return (
    `Query ${querySequence[residue]}${residue + 1} is closest to ${sequence[target]}${target + 1}` +
    ` (similarity ${cosine[residue].toFixed(2)}${both}).`
  );
}

const MATRIX_MAX_PIXELS = 560;

function Matrix({ closest, matrix, hit, querySequence }: FormProps & { readonly matrix: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [at, setAt] = useState<readonly [number, number]>();
  const { query_length: rows, target_length: columns } = closest;
  useEffect(() => {
    if (canvas.current !== null) drawMatrix(canvas.current, matrix, closest, hit);
  }, [matrix]);
  const scale = Math.min(4, MATRIX_MAX_PIXELS / Math.max(rows, columns));
  const point = (event: PointerEvent): void => {
    const box = (event.currentTarget as Element).getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
    const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
    setAt([Math.min(rows - 1, Math.max(0, row)), Math.min(columns - 1, Math.max(0, column))]);
  };
  const cosineAt = ([row, column]: readonly [number, number]): number =>
    atob(matrix).charCodeAt(row * columns + column) / 127.5 - 1;
  return (
    <figure class="chart wide">
      <canvas
        ref={canvas}
        class="matrix"
        width={columns}
        height={rows}
        style={{ width: `${columns * scale}px`, aspectRatio: `${columns} / ${rows}` }}
        role="img"
        aria-label="Similarity of every residue of the query, downwards, with every residue of the target"
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      />
      <p class="small muted readout">
        {at === undefined
          ? 'Query downwards, target to the right. Stronger colour is higher similarity; orange is the alignment.'
          : `Query ${querySequence[at[0]]}${at[0] + 1}, target ${hit.sequence[at[1]]}${at[1] + 1}: ` +
            `similarity ${cosineAt(at).toFixed(2)}`}
      </p>
    </figure>
  );
}

function drawMatrix(
  canvas: HTMLCanvasElement,
  matrix: string,
  { query_length: rows, target_length: columns }: Closest,
  hit: Hit,
): void {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const bytes = atob(matrix);
  const image = context.createImageData(columns, rows);
  const [red, green, blue] = (getComputedStyle(canvas).color.match(/[\d.]+/g) ?? []).map(Number);
  for (let index = 0; index < rows * columns; index += 1) {
    const cosine = bytes.charCodeAt(index) / 127.5 - 1;
    const ink = Math.max(0, Math.min(1, (cosine - 0.1) / 0.8)) ** 1.4;
    image.data.set([red, green, blue, 255 * ink], 4 * index);
  }
  for (const [row, column] of pathOf(hit)) image.data.set([232, 126, 38, 255], 4 * (row * columns + column));
  context.putImageData(image, 0, 0);
}

/** Returns the pairs of residues that the alignment matches. */
function pathOf({ alignment }: Hit): readonly (readonly [number, number])[] {
  if (alignment === undefined) return [];
  const pairs: (readonly [number, number])[] = [];
  let [row, column] = [alignment.query_start, alignment.target_start];
  for (const [, length, kind] of alignment.cigar.matchAll(/(\d+)([=XID])/g)) {
    for (let step = 0; step < Number(length); step += 1) {
      if (kind === '=' || kind === 'X') pairs.push([row, column]);
      if (kind !== 'D') row += 1;
      if (kind !== 'I') column += 1;
    }
  }
  return pairs;
}
