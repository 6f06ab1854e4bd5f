import { assert } from '../../src/errors.js';
import { OURS, type BarPlot, type FigureTable, type LinePlot } from './tables.js';

/*
 * Plots of the tables as SVG. Colours follow the system of the reader: a plot reads in light and dark and on paper. The
 * same table gives the same bytes.
 */

const WIDTH = 720;
const LABEL_WIDTH = 330;
const BAR_HEIGHT = 22;
const BAR_STEP = 32;
const TOP = 24;
const FONT = 'system-ui, -apple-system, Segoe UI, Noto Sans, Roboto, Helvetica, sans-serif';
const STYLE = `text{font:13px ${FONT};fill:#211f2b}.ground{fill:#fff}.quiet{fill:#66626f}.line{stroke:#cbc7be}
.ours{fill:#4a45a0}.peer{fill:#c9c5bd}.even{stroke:#211f2b;stroke-dasharray:4 4}path{fill:none;stroke-width:2}
@media(prefers-color-scheme:dark){text{fill:#ebe9f1}.ground{fill:#1c1b25}.quiet{fill:#a19dae}.line{stroke:#454256}
.ours{fill:#a9a4f0}.peer{fill:#5f5b6c}.even{stroke:#ebe9f1}}`;
/** Readable on light and dark ground, in the order of the rows. */
const INKS = ['#7a74d8', '#c8674f', '#2f9e63', '#b98342', '#a8559a', '#4a90b8'];

/** Files of docs/images and their text. */
export function plotsOf(tables: readonly FigureTable[]): ReadonlyMap<string, string> {
  const plots = new Map<string, string>();
  for (const table of tables) {
    if (table.plot === undefined) continue;
    plots.set(
      table.plot.file,
      table.plot.kind === 'bars' ? bars(table, table.plot) : lines(table, table.plot),
    );
  }
  return plots;
}

function bars({ title, rows }: FigureTable, { value, axis, scale }: BarPlot): string {
  const numbers = rows.map((row) => numberOf(row[value]));
  const largest = Math.max(...numbers);
  const least = Math.min(...numbers);
  const room = WIDTH - LABEL_WIDTH - 70;
  // A logarithmic bar begins at half of the least number.
  const lengthOf = (number: number): number =>
    scale === 'log'
      ? (Math.log(number / (least / 2)) / Math.log(largest / (least / 2))) * room
      : (number / largest) * room;
  const drawn = rows.flatMap((row, index) => {
    const y = TOP + index * BAR_STEP;
    const length = round(lengthOf(numbers[index] ?? 0));
    const name = row[0] ?? '';
    const ink = OURS.test(name) ? 'ours' : 'peer';
    const place = `x="${LABEL_WIDTH}" y="${y}" width="${length}" height="${BAR_HEIGHT}"`;
    return [
      `<text x="${LABEL_WIDTH - 10}" y="${y + 16}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${ink}" ${place} rx="3"/>`,
      `<text x="${LABEL_WIDTH + length + 8}" y="${y + 16}">${escaped(row[value] ?? '')}</text>`,
    ];
  });
  const bottom = TOP + rows.length * BAR_STEP;
  return framed(title, bottom + 34, [
    ...drawn,
    `<text class="quiet" x="${LABEL_WIDTH}" y="${bottom + 16}">${escaped(axis)}</text>`,
  ]);
}

function lines({ title, rows }: FigureTable, { rows: shown, axis, labels }: LinePlot): string {
  const left = 60;
  const height = 260;
  const right = 440;
  const yOf = (number: number): number => round(TOP + height / 2 - (Math.log2(number) / 2) * (height / 2));
  const xOf = (at: number): number => round(left + (at * (right - left)) / (labels.length - 1));
  const levels = [0.25, 0.5, 1, 2, 4].flatMap((level) => [
    `<line class="${level === 1 ? 'even' : 'line'}" x1="${left}" x2="${right}" y1="${yOf(level)}" y2="${yOf(level)}"/>`,
    `<text class="quiet" x="${left - 8}" y="${yOf(level) + 4}" text-anchor="end">${level}</text>`,
  ]);
  const ticks = labels.map(
    (label, at) =>
      `<text class="quiet" x="${xOf(at)}" y="${TOP + height + 20}" text-anchor="middle">${escaped(label)}</text>`,
  );
  const drawn = shown.flatMap((rowIndex, index) => {
    const [name = '', ...cells] = rows[rowIndex] ?? [];
    const ink = INKS[index] ?? 'currentColor';
    const points = cells.flatMap((cell, at) => (cell === '' ? [] : [`${xOf(at)},${yOf(numberOf(cell))}`]));
    const y = TOP + 14 + index * 22;
    return [
      `<path stroke="${ink}" d="M${points.join('L')}"/>`,
      ...points.map((point) => {
        const [x, at] = point.split(',');
        return `<circle cx="${x}" cy="${at}" r="3.5" fill="${ink}"/>`;
      }),
      `<rect x="${right + 24}" y="${y - 9}" width="10" height="10" rx="2" fill="${ink}"/>`,
      `<text x="${right + 40}" y="${y}">${escaped(name.replaceAll('`', ''))}</text>`,
    ];
  });
  return framed(title, TOP + height + 56, [
    ...levels,
    ...ticks,
    ...drawn,
    `<text class="quiet" x="${left}" y="${TOP + height + 42}">${escaped(axis)}; 1 is right</text>`,
  ]);
}

function framed(title: string, height: number, content: readonly string[]): string {
  const size = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img">`,
    // XML has no two hyphens inside a comment.
    '<!-- Written by the bench "figures" from bench/figures.json. -->',
    `<title>${escaped(title)}</title><style>${STYLE}</style>`,
    `<rect class="ground" width="${WIDTH}" height="${height}"/>`,
    ...content,
    '</svg>\n',
  ].join('\n');
}

function numberOf(cell: string | undefined): number {
  const number = Number.parseFloat((cell ?? '').replaceAll(',', ''));
  assert(Number.isFinite(number) && number > 0, `a plotted cell is a positive number, not "${cell}"`);
  return number;
}

function round(length: number): number {
  return Math.round(length * 10) / 10;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
