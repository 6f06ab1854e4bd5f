import { useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import { VirtualList } from '../parts/virtual-list.js';
import { SURPRISES, surprise } from './colour.js';
import type { Column, Order } from './columns.js';
import { hitsOfAlignments, type Hit, type ResultSet } from './hits.js';

interface HitTableProps {
  readonly result: ResultSet;
  readonly hits: readonly Hit[];
  readonly columns: readonly Column[];
  readonly order: Order;
  readonly onOrder: (column: Column) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (ids: readonly string[], isSelected: boolean) => void;
  readonly openId: string | undefined;
  readonly onOpen: (id: string | undefined) => void;
  readonly renderOpen: (hit: Hit) => ComponentChildren;
}

const ROW_HEIGHT = 48;

/** The table of hits. Columns sort, rows can be selected and opened, and arrow keys move from row to row. */
export function HitTable(props: HitTableProps) {
  const { hits, columns, openId, renderOpen } = props;
  const [focusRow, setFocusRow] = useState(0);
  const openRow = openId === undefined ? -1 : hits.findIndex(({ id }) => id === openId);
  const marked = useRef<number | undefined>(undefined);
  const mark = (row: number, isRange: boolean): void => {
    const [first, last] = [Math.min(row, marked.current ?? row), Math.max(row, marked.current ?? row)];
    const range = isRange ? hits.slice(first, last + 1) : [hits[row]];
    props.onSelect(
      range.map(({ id }) => id),
      !props.selected.has(hits[row].id),
    );
    marked.current = row;
  };
  const template = `2.4rem ${columns.map(({ width }) => width).join(' ')}`;
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const isRow = (event.target as Element).closest('[data-row]') !== null;
    if (step === undefined || !isRow) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(hits.length - 1, focusRow + step));
    setFocusRow(next);
    focusOn(event.currentTarget as Element, next);
  };
  return (
    <div class="hit-table" role="table" aria-label="Hits" aria-rowcount={hits.length + 1} onKeyDown={move}>
      <TableHead {...props} template={template} />
      <VirtualList
        rowCount={hits.length}
        rowHeight={ROW_HEIGHT}
        openRow={openRow}
        openContent={openRow >= 0 ? renderOpen(hits[openRow]) : null}
        label="Rows"
        renderRow={(row, top) => (
          <HitRow
            {...props}
            key={hits[row].id}
            hit={hits[row]}
            row={row}
            top={top}
            template={template}
            isFocus={row === focusRow}
            onFocus={() => setFocusRow(row)}
            onMark={(isRange) => mark(row, isRange)}
          />
        )}
      />
    </div>
  );
}

/**
 * Focuses a row. A row outside the window is not an element yet, so the page scrolls first and the next frame sets the
 * focus.
 */
function focusOn(table: Element, row: number): void {
  const button = (): HTMLElement | null => table.querySelector(`[data-row="${row}"] .open-row`);
  if (button() === null) scrollBy({ top: row > 0 ? ROW_HEIGHT * 6 : -ROW_HEIGHT * 6 });
  requestAnimationFrame(() => {
    button()?.focus();
    button()?.scrollIntoView({ block: 'nearest' });
  });
}

function TableHead(props: HitTableProps & { readonly template: string }) {
  const { hits, columns, order, onOrder, selected, onSelect, template } = props;
  const isAll = hits.length > 0 && hits.every(({ id }) => selected.has(id));
  const ids = hits.map(({ id }) => id);
  return (
    <div class="table-head" role="rowgroup">
      <div role="row" class="row" style={{ gridTemplateColumns: template }}>
        <span role="columnheader" class="cell select">
          <input
            type="checkbox"
            checked={isAll}
            onChange={() => onSelect(ids, !isAll)}
            aria-label="Select all shown"
          />
        </span>
        {columns.map((column) => {
          const isBy = order.column === column.id;
          const direction = order.isDescending ? 'descending' : 'ascending';
          return (
            <span
              key={column.id}
              role="columnheader"
              aria-sort={isBy ? direction : 'none'}
              class={`cell ${column.isNumber ? 'number' : ''}`}
            >
              <button
                type="button"
                class={isBy ? `by ${direction}` : ''}
                title={column.meaning}
                onClick={() => onOrder(column)}
              >
                {column.title}
              </button>
            </span>
          );
        })}
      </div>
    </div>
  );
}

interface HitRowProps extends HitTableProps {
  readonly hit: Hit;
  readonly row: number;
  /** Pixels from the top of the list. */
  readonly top: number;
  readonly template: string;
  /** True for the row that the Tab key reaches. */
  readonly isFocus: boolean;
  readonly onFocus: () => void;
  /** Selects or deselects the row; as a range, with all rows since the previous one. */
  readonly onMark: (isRange: boolean) => void;
}

function HitRow(props: HitRowProps) {
  const { hit, row, top, template, columns, selected, openId, onOpen, isFocus, onFocus, onMark, result } =
    props;
  const isOpen = openId === hit.id;
  const isSelected = selected.has(hit.id);
  const toggle = (): void => onOpen(isOpen ? undefined : hit.id);
  const clicked = (event: Event): void => {
    const isOther = (event.target as Element).closest('input, a, button') !== null;
    if (!isOther && String(getSelection()) === '') toggle();
  };
  return (
    <div
      role="row"
      aria-rowindex={row + 2}
      data-row={row}
      class={`row hit ${isOpen ? 'is-open' : ''} ${isSelected ? 'is-selected' : ''}`}
      style={{ top: `${top}px`, gridTemplateColumns: template }}
      onClick={clicked}
    >
      <span role="cell" class="cell select">
        <input
          type="checkbox"
          checked={isSelected}
          onClick={(event) => onMark(event.shiftKey)}
          title="Shift selects a range"
          aria-label={`Select ${hit.id}`}
          tabIndex={isFocus ? 0 : -1}
        />
      </span>
      {columns.map((column) => (
        <span
          key={column.id}
          role="cell"
          class={`cell ${column.isNumber ? 'number' : ''} column-${column.id}`}
        >
          {column.id === 'target' ? (
            <button
              type="button"
              class="open-row"
              aria-expanded={isOpen}
              tabIndex={isFocus ? 0 : -1}
              onFocus={onFocus}
              onClick={toggle}
            >
              <b>{hit.id}</b>
              <span class="muted">{hit.description}</span>
            </button>
          ) : (
            <CellContent column={column} hit={hit} queryLength={result.query.sequence.length} />
          )}
        </span>
      ))}
    </div>
  );
}

interface CellProps {
  readonly column: Column;
  readonly hit: Hit;
  readonly queryLength: number;
}

function CellContent({ column, hit, queryLength }: CellProps) {
  const text = column.text(hit);
  if (column.id === 'evalue') {
    const step = surprise(hit);
    return (
      <span
        class="evalue"
        title={text === '' ? `No E-value: ${hit.reason.replaceAll('_', ' ')}` : SURPRISES[step]}
      >
        <i class={`dot s${step}`} aria-hidden="true" />
        {text === '' ? '–' : text}
      </span>
    );
  }
  if (column.id === 'qcov' && hit.alignment !== undefined) {
    const hits = hitsOfAlignments(hit).filter((each) => each.alignment !== undefined);
    const stretches = hits.map((each) => ({
      step: surprise(each),
      start: each.alignment!.query_start,
      end: each.alignment!.query_end,
    }));
    const residues = stretches.map(({ start, end }) => `${start + 1} to ${end}`).join(', ');
    return (
      <span class="coverage" title={`Query residues ${residues}`}>
        <span class="track" aria-hidden="true">
          {stretches.map(({ step, start, end }, at) => (
            <i
              key={at}
              class={`s${step}`}
              style={{
                left: `${(100 * start) / queryLength}%`,
                width: `${(100 * (end - start)) / queryLength}%`,
              }}
            />
          ))}
        </span>
        {text}
      </span>
    );
  }
  return (
    <span class="clip" title={column.isNumber ? undefined : text}>
      {text}
    </span>
  );
}
