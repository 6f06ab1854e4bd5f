import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { NARROW, useMedia } from '../parts/media.js';
import type { Msa, MsaSummary } from './alignment.js';
import { inksOf } from './inks.js';
import { createLogo, letterAtlas, paintCells, paintLogo, paintNames, type Sight } from './paint.js';

const ZOOMS: readonly (readonly [width: number, height: number])[] = [
  [1, 2],
  [3, 4],
  [6, 10],
  [11, 16],
  [15, 20],
];
const LOGO_HEIGHT = 56;
/** Height reserved for a horizontal scroll bar below the rows. Unit  pixels */
const SCROLLBAR_HEIGHT = 20;

/**
 * Paints the alignment on a canvas. Only visible cells are painted, so that scrolling ten thousand rows costs as much
 * as scrolling ten. The canvas scrolls with the keys of a scrollable element.
 */
export function MsaCanvas({ msa, summary }: { readonly msa: Msa; readonly summary: MsaSummary }) {
  const [zoom, setZoom] = useState(3);
  const [cellWidth, cellHeight] = ZOOMS[zoom];
  const namesWidth = useMedia(NARROW) ? 84 : 148;
  const frame = useRef<HTMLDivElement>(null);
  const cells = useRef<HTMLCanvasElement>(null);
  const names = useRef<HTMLCanvasElement>(null);
  const logo = useRef<HTMLCanvasElement>(null);
  const atlas = useMemo(() => letterAtlas(cellWidth, cellHeight, devicePixelRatio), [cellWidth, cellHeight]);

  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const inks = inksOf(element);
    const stacks = createLogo(summary, cellWidth, LOGO_HEIGHT, devicePixelRatio, inks);
    let frameRequest = 0;
    let picture: ImageData | undefined;
    const paint = (): void => {
      frameRequest = 0;
      // The view may be closed between the request of a frame and the frame.
      if (cells.current === null || names.current === null || logo.current === null) return;
      const sight = { ...sightOf(element, namesWidth), cellWidth, cellHeight };
      const context = prepared(cells.current, sight.width, sight.height);
      const { width, height } = context.canvas;
      if (picture?.width !== width || picture.height !== height)
        picture = context.createImageData(width, height);
      paintCells(picture, msa, atlas, sight, devicePixelRatio);
      context.putImageData(picture, 0, 0);
      paintNames(prepared(names.current, namesWidth, sight.height), msa, sight, namesWidth, inks);
      paintLogo(prepared(logo.current, sight.width, LOGO_HEIGHT), stacks, sight, LOGO_HEIGHT);
    };
    const ask = (): void => void (frameRequest ||= requestAnimationFrame(paint));
    const watcher = new ResizeObserver(ask);
    watcher.observe(element);
    element.addEventListener('scroll', ask, { passive: true });
    paint();
    return () => {
      cancelAnimationFrame(frameRequest);
      watcher.disconnect();
      element.removeEventListener('scroll', ask);
    };
  }, [msa, summary, atlas, namesWidth, cellWidth, cellHeight]);

  return (
    <section class="msa-area" aria-label="Alignment">
      <div class="actions">
        <p class="small muted">
          {msa.rowCount.toLocaleString('en')} rows × {msa.columnCount.toLocaleString('en')} columns
        </p>
        <div class="segments" role="group" aria-label="Zoom">
          <button type="button" disabled={zoom === 0} onClick={() => setZoom(zoom - 1)} aria-label="Smaller">
            −
          </button>
          <button
            type="button"
            disabled={zoom === ZOOMS.length - 1}
            onClick={() => setZoom(zoom + 1)}
            aria-label="Larger"
          >
            +
          </button>
        </div>
      </div>
      <div
        ref={frame}
        class="msa-frame"
        style={{ maxHeight: `${LOGO_HEIGHT + msa.rowCount * cellHeight + SCROLLBAR_HEIGHT}px` }}
        tabIndex={0}
        role="region"
        aria-label={`${msa.rowCount} sequences over ${msa.columnCount} columns; arrow keys scroll`}
      >
        <div
          class="msa-space"
          style={{
            width: `${namesWidth + msa.columnCount * cellWidth}px`,
            height: `${LOGO_HEIGHT + msa.rowCount * cellHeight}px`,
          }}
        >
          <div
            class="msa-window"
            style={{ gridTemplateColumns: `${namesWidth}px 1fr`, gridTemplateRows: `${LOGO_HEIGHT}px 1fr` }}
          >
            <span class="small muted">logo</span>
            <canvas ref={logo} aria-hidden="true" />
            <canvas ref={names} aria-hidden="true" />
            <canvas ref={cells} aria-hidden="true" />
          </div>
        </div>
      </div>
    </section>
  );
}

function sightOf(element: HTMLElement, namesWidth: number): Omit<Sight, 'cellWidth' | 'cellHeight'> {
  return {
    left: element.scrollLeft,
    top: element.scrollTop,
    width: element.clientWidth - namesWidth,
    height: element.clientHeight - LOGO_HEIGHT,
  };
}

/**
 * Returns a canvas of this size in device pixels. The size is set only when it changes, because setting it clears the
 * canvas.
 */
function prepared(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D {
  const element = canvas as HTMLCanvasElement;
  const [wide, tall] = [Math.round(width * devicePixelRatio), Math.round(height * devicePixelRatio)];
  if (element.width !== wide || element.height !== tall) {
    [element.width, element.height] = [wide, tall];
    element.style.width = `${width}px`;
    element.style.height = `${height}px`;
  }
  // Pixels are written by the processor, so the canvas stays in its memory.
  const context = element.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  return context;
}
