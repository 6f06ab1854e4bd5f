import { ALPHABET, type Msa, type MsaSummary } from './alignment.js';

/** Colours by what residues are like; the text on each is dark. */
const CLASSES: readonly (readonly [letters: string, colour: string])[] = [
  ['AILMVFWC', '#a9c6ee'],
  ['KR', '#f0a9a0'],
  ['DE', '#d9b3ea'],
  ['NQST', '#b5dfb0'],
  ['G', '#f6cf9c'],
  ['P', '#efe38f'],
  ['HY', '#a3dedc'],
];

function colourOf(letter: string): string {
  return CLASSES.find(([letters]) => letters.includes(letter))?.[1] ?? '#e4e2e6';
}

/** What of the alignment is in sight, in pixels from its upper left corner. */
export interface Sight {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Pixels of one column and of one row. */
  readonly cellWidth: number;
  readonly cellHeight: number;
}

export interface Inks {
  readonly text: string;
  readonly accent: string;
}

/** Every letter painted once, so that a frame copies pictures and shapes no text. */
export function letterAtlas(cellWidth: number, cellHeight: number, density: number): HTMLCanvasElement {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [26 * cellWidth * density, cellHeight * density];
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  context.scale(density, density);
  context.font = `${Math.min(cellHeight - 3, cellWidth * 1.15)}px ui-monospace, Menlo, Consolas, monospace`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let at = 0; at < 26; at += 1) {
    const letter = String.fromCharCode(65 + at);
    context.fillStyle = colourOf(letter);
    context.fillRect(at * cellWidth, 0, cellWidth, cellHeight);
    context.fillStyle = '#23212b';
    if (cellWidth >= 8) context.fillText(letter, (at + 0.5) * cellWidth, cellHeight / 2 + 0.5);
  }
  return canvas;
}

/** The cells in sight. Cost  cells in sight, whatever the alignment has */
export function paintCells(
  context: CanvasRenderingContext2D,
  { letters, rowCount, columnCount }: Msa,
  atlas: HTMLCanvasElement,
  { left, top, width, height, cellWidth, cellHeight }: Sight,
): void {
  const firstRow = Math.max(0, Math.floor(top / cellHeight));
  const lastRow = Math.min(rowCount, Math.ceil((top + height) / cellHeight));
  const firstColumn = Math.max(0, Math.floor(left / cellWidth));
  const lastColumn = Math.min(columnCount, Math.ceil((left + width) / cellWidth));
  const pitch = atlas.width / 26;
  context.clearRect(0, 0, width, height);
  for (let row = firstRow; row < lastRow; row += 1) {
    const y = row * cellHeight - top;
    for (let column = firstColumn; column < lastColumn; column += 1) {
      const letter = letters[row * columnCount + column] - 65;
      if (letter < 0 || letter > 25) continue;
      const x = column * cellWidth - left;
      context.drawImage(atlas, letter * pitch, 0, pitch, atlas.height, x, y, cellWidth, cellHeight);
    }
  }
}

/** Names of the rows in sight. */
export function paintNames(
  context: CanvasRenderingContext2D,
  { names }: Msa,
  { top, height, cellHeight }: Sight,
  width: number,
  inks: Inks,
): void {
  context.clearRect(0, 0, width, height);
  context.fillStyle = inks.text;
  context.font = `${Math.min(12, cellHeight - 3)}px system-ui, sans-serif`;
  context.textBaseline = 'middle';
  const last = Math.min(names.length, Math.ceil((top + height) / cellHeight));
  for (let row = Math.max(0, Math.floor(top / cellHeight)); row < last; row += 1) {
    context.fillText(names[row], 0, (row + 0.5) * cellHeight - top, width - 8);
  }
}

/** Over the columns: the logo where letters fit, bars of conservation where they do not. */
export function paintLogo(
  context: CanvasRenderingContext2D,
  { counts, conservation, depth }: MsaSummary,
  { left, width, cellWidth }: Sight,
  height: number,
  inks: Inks,
): void {
  const size = ALPHABET.length;
  const most = Math.log2(size);
  context.clearRect(0, 0, width, height);
  context.textAlign = 'center';
  context.textBaseline = 'alphabetic';
  const last = Math.min(depth.length, Math.ceil((left + width) / cellWidth));
  for (let column = Math.max(0, Math.floor(left / cellWidth)); column < last; column += 1) {
    const x = column * cellWidth - left;
    const stack = (conservation[column] / most) * height;
    if (cellWidth < 8) {
      context.fillStyle = inks.accent;
      context.fillRect(x, height - stack, Math.max(1, cellWidth - 0.5), stack);
      continue;
    }
    const own = [...counts.subarray(column * size, (column + 1) * size)];
    const total = own.reduce((sum, each) => sum + each, 0);
    const ranked = own
      .map((each, at) => ({ letter: ALPHABET[at], share: each / total }))
      .sort((a, b) => a.share - b.share);
    let y = height;
    for (const { letter, share } of ranked) {
      const tall = share * stack;
      if (tall >= 1.5) paintLetter(context, letter, x, y, cellWidth, tall);
      y -= tall;
    }
  }
}

/** A letter stretched to its share of the stack. */
function paintLetter(
  context: CanvasRenderingContext2D,
  letter: string,
  x: number,
  y: number,
  width: number,
  tall: number,
): void {
  context.save();
  context.translate(x + width / 2, y);
  context.scale((width / 10) * 1.05, tall / 10);
  context.font = 'bold 13.7px ui-monospace, Menlo, Consolas, monospace';
  context.fillStyle = INKS_OF_LETTERS[colourOf(letter)] ?? '#77737f';
  context.fillText(letter, 0, 0);
  context.restore();
}

/** The classes' colours as ink: darker, to be read on the ground. */
const INKS_OF_LETTERS: Readonly<Record<string, string>> = {
  '#a9c6ee': '#3f78c9',
  '#f0a9a0': '#d2503f',
  '#d9b3ea': '#a45fc6',
  '#b5dfb0': '#4a9b41',
  '#f6cf9c': '#d98a24',
  '#efe38f': '#a8971d',
  '#a3dedc': '#2f9c98',
};

/**
 * Depth of coverage, as it is drawn for structure predictions: rows by identity with the query, most alike below, and
 * the number of rows with a residue as a line.
 */
export function paintDepth(
  canvas: HTMLCanvasElement,
  { letters, rowCount, columnCount }: Msa,
  { depth, identity }: MsaSummary,
  inks: Inks,
): void {
  const context = canvas.getContext('2d') as CanvasRenderingContext2D;
  const { width, height } = canvas;
  context.clearRect(0, 0, width, height);
  const order = [...identity.keys()].sort((a, b) => identity[a] - identity[b]);
  for (let line = 0; line < height; line += 1) {
    const row = order[Math.floor((line * rowCount) / height)];
    context.fillStyle = identityColour(identity[row]);
    let start = -1;
    for (let column = 0; column <= columnCount; column += 1) {
      const isCovered = column < columnCount && letters[row * columnCount + column] !== 45;
      if (isCovered && start < 0) start = column;
      if (isCovered || start < 0) continue;
      context.fillRect((start * width) / columnCount, line, ((column - start) * width) / columnCount, 1);
      start = -1;
    }
  }
  context.beginPath();
  depth.forEach((rows, column) => {
    context.lineTo(((column + 0.5) * width) / columnCount, height - (rows / rowCount) * (height - 2) - 1);
  });
  context.strokeStyle = inks.text;
  context.lineWidth = 2;
  context.stroke();
}

/** From pale, hardly any letter of the query, to deep, all of them. */
export function identityColour(identity: number): string {
  const share = Math.min(1, identity);
  const hue = (392 - 140 * share) % 360;
  return `hsl(${hue.toFixed(0)} ${(58 - 8 * share).toFixed(0)}% ${(76 - 40 * share).toFixed(0)}%)`;
}
