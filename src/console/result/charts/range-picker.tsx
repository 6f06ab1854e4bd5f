import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { counted } from '../../parts/format.js';

/** Residues of the query, zero-based and half-open. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

interface RangePickerProps {
  readonly queryLength: number;
  /** Stretch that this result is of; absent for the whole query. */
  readonly searched: Range | undefined;
  /** Searches the stretch alone. */
  readonly onRange: (range: Range) => void;
  /** The picture whose width is the query. */
  readonly children: ComponentChildren;
}

/** Steps of the keys, in residues. Page keys are for long proteins. */
const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowDown: -1,
  ArrowRight: 1,
  ArrowUp: 1,
  PageDown: -10,
  PageUp: 10,
};

/**
 * Lays a ruler over a picture whose width is the query. Dragging over the ruler selects a stretch, and so do two
 * sliders by the keyboard. A button searches the stretch.
 */
export function RangePicker({ queryLength, searched, onRange, children }: RangePickerProps) {
  const [range, setRange] = useState<Range>(searched ?? { start: 0, end: queryLength });
  const ruler = useRef<HTMLDivElement>(null);
  const anchor = useRef<number | undefined>(undefined);
  const isWhole = range.start === 0 && range.end === queryLength;
  const isSearched = searched === undefined ? isWhole : isSame(range, searched);

  const edgeAt = ({ clientX }: PointerEvent): number => {
    const { left, width } = ruler.current!.getBoundingClientRect();
    return bounded(Math.round(((clientX - left) / width) * queryLength), 0, queryLength);
  };
  const drag = (event: PointerEvent): void => {
    const from = anchor.current;
    if (from === undefined) return;
    const to = edgeAt(event);
    if (to !== from) setRange({ start: Math.min(from, to), end: Math.max(from, to) });
  };
  const end = (): void => {
    anchor.current = undefined;
  };
  const begin = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.preventDefault();
    anchor.current = edgeAt(event);
    ruler.current!.setPointerCapture(event.pointerId);
  };
  const slider = (edge: 'start' | 'end', label: string, least: number, most: number) => (
    <span
      class="range-edge"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={edge === 'start' ? least + 1 : least}
      aria-valuemax={edge === 'start' ? most + 1 : most}
      aria-valuenow={edge === 'start' ? range.start + 1 : range.end}
      style={{ left: `${(100 * range[edge]) / queryLength}%` }}
      onKeyDown={(event) => {
        const step = STEPS[event.key];
        const at = { Home: least, End: most }[event.key] ?? (step === undefined ? NaN : range[edge] + step);
        if (Number.isNaN(at)) return;
        event.preventDefault();
        setRange({ ...range, [edge]: bounded(at, least, most) });
      }}
    />
  );
  return (
    <>
      <div class="range-picker">
        {children}
        {!isWhole && (
          <div
            class="range-shade"
            style={{
              left: `${(100 * range.start) / queryLength}%`,
              width: `${(100 * (range.end - range.start)) / queryLength}%`,
            }}
          />
        )}
        <div
          class="range-ruler"
          ref={ruler}
          title="Drag to select residues of the query"
          onPointerDown={begin}
          onPointerMove={drag}
          onPointerUp={end}
          onPointerCancel={end}
        >
          {slider('start', 'First residue of the stretch', 0, range.end - 1)}
          {slider('end', 'Last residue of the stretch', range.start + 1, queryLength)}
        </div>
      </div>
      <p class="range-line small" role="status">
        {isSearched ? (
          <span class="muted">Drag over the ruler, or move its ends, to search a stretch alone.</span>
        ) : (
          <>
            <button type="button" class="button small" onClick={() => onRange(range)}>
              {isWhole
                ? 'Search the whole query'
                : `Search residues ${range.start + 1} to ${range.end} alone`}
            </button>{' '}
            <span class="muted">{counted(range.end - range.start, 'residue')}</span>{' '}
            <button
              type="button"
              class="link"
              onClick={() => setRange(searched ?? { start: 0, end: queryLength })}
            >
              undo
            </button>
          </>
        )}
      </p>
    </>
  );
}

function isSame(one: Range, other: Range): boolean {
  return one.start === other.start && one.end === other.end;
}

function bounded(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
