import { printable } from '../../printable.js';

/**
 * Formats a plain table for people: columns as wide as their widest cell, two spaces between, header first. Columns
 * that `alignRight` names are aligned right. A cell may be text of any origin: characters that do not print themselves
 * are replaced.
 */
export function formatTable(
  header: readonly string[],
  texts: readonly (readonly string[])[],
  alignRight: ReadonlySet<number> = new Set(),
): string {
  const rows = texts.map((cells) => cells.map(printable));
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column].length)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) =>
        alignRight.has(column) ? cell.padStart(widths[column]) : cell.padEnd(widths[column]),
      )
      .join('  ')
      .trimEnd();
  return [header, ...rows].map((cells) => `${line(cells)}\n`).join('');
}
