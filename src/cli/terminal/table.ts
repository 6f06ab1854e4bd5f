/**
 * Formats a plain table for people: columns as wide as their widest cell, two spaces between, header first. Columns
 * that `alignRight` names are aligned right.
 */
export function formatTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  alignRight: ReadonlySet<number> = new Set(),
): string {
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
