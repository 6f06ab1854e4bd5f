import type { Column } from './columns.js';

interface ColumnLinksProps {
  readonly columns: readonly Column[];
  /** Address of the manual, with a slash at the end. */
  readonly manualHref: string;
}

/** Links each shown column to its section of the manual. */
export function ColumnLinks({ columns, manualHref }: ColumnLinksProps) {
  const explained = columns.filter(({ section }) => section !== undefined);
  return (
    <p class="column-links small muted">
      What the columns mean:{' '}
      {explained.map(({ id, title, meaning, section }, index) => (
        <span key={id}>
          {index > 0 && ' · '}
          <a href={`${manualHref}numbers#${section}`} title={meaning}>
            {title === '#' ? 'Rank' : title}
          </a>
        </span>
      ))}
    </p>
  );
}
