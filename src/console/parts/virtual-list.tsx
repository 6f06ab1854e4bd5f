import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

interface VirtualListProps {
  readonly rowCount: number;
  /** Pixels. */
  readonly rowHeight: number;
  /** Row that is open, with details below it; -1 for none. */
  readonly openRow: number;
  readonly openContent: ComponentChildren;
  readonly renderRow: (row: number, top: number) => ComponentChildren;
  readonly label: string;
}

const SPARE_ROWS = 8;

/**
 * Renders rows of one height. Only visible rows are elements. One row may be open, with details of any height below it.
 * The list scrolls with the page, so that there is a single scroll bar.
 */
export function VirtualList(props: VirtualListProps) {
  const { rowCount, rowHeight, openRow, openContent, renderRow, label } = props;
  const frame = useRef<HTMLDivElement>(null);
  const opened = useRef<HTMLDivElement>(null);
  const [openHeight, setOpenHeight] = useState(0);
  const [sight, setSight] = useState({ first: 0, last: 40 });
  const isOpen = openRow >= 0 && openRow < rowCount;
  const extra = isOpen ? openHeight : 0;

  useLayoutEffect(() => {
    const look = (): void => {
      const top = -(frame.current?.getBoundingClientRect().top ?? 0);
      const first = Math.floor((top - extra) / rowHeight) - SPARE_ROWS;
      const last = Math.ceil((top + innerHeight) / rowHeight) + SPARE_ROWS;
      setSight((before) => (before.first === first && before.last === last ? before : { first, last }));
    };
    look();
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    return () => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    };
  }, [extra, rowHeight, rowCount]);

  useLayoutEffect(() => {
    const element = opened.current;
    if (element === null) return undefined;
    const watcher = new ResizeObserver(() => setOpenHeight(element.offsetHeight));
    watcher.observe(element);
    setOpenHeight(element.offsetHeight);
    return () => watcher.disconnect();
  }, [openRow, isOpen]);

  const rows: ComponentChildren[] = [];
  for (let row = Math.max(0, sight.first); row < Math.min(rowCount, sight.last); row += 1) {
    rows.push(renderRow(row, row * rowHeight + (isOpen && row > openRow ? extra : 0)));
  }
  return (
    <div
      ref={frame}
      class="virtual-list"
      role="rowgroup"
      aria-label={label}
      style={{ height: `${rowCount * rowHeight + extra}px` }}
    >
      {rows}
      {isOpen && (
        <div
          key="open"
          ref={opened}
          class="opened"
          role="row"
          style={{ top: `${(openRow + 1) * rowHeight}px` }}
        >
          <div role="cell">{openContent}</div>
        </div>
      )}
    </div>
  );
}
