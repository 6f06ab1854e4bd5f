import type { ComponentChildren } from 'preact';

interface PlainTableProps {
  readonly head: readonly string[];
  /** Rows. */
  readonly children: ComponentChildren;
}

/** A table that scrolls sideways if it is too wide, with keys, too. */
export function PlainTable({ head, children }: PlainTableProps) {
  return (
    <div class="scroll" tabIndex={0}>
      <table class="plain-table">
        <thead>
          <tr>
            {head.map((each) => (
              <th key={each}>{each}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
