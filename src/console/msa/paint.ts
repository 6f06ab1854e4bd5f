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

/** Every letter painted once, as pixels of the screen: a frame copies them. */
export interface LetterAtlas {
  /** A line after the other, all letters beside each other, and an empty cell behind them. */
  readonly pixels: Uint32Array;
  /** Pixels of a cell. */
  readonly width: number;
  readonly height: number;
}

const CELLS = 27;
const EMPTY_CELL = 26;

/** @param density pixels of the screen in one of the page */
export function letterAtlas(cellWidth: number, cellHeight: number, density: number): LetterAtlas {
  const [width, height] = [Math.ceil(cellWidth * density), Math.ceil(cellHeight * density)];
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [CELLS * width, height];
  const context = canvas.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
  context.scale(width / cellWidth, height / cellHeight);
  context.font = `${Math.min(cellHeight - 3, cellWidth * 1.15)}px ui-monospace, Menlo, Consolas, monospace`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let at = 0; at < EMPTY_CELL; at += 1) {
    const letter = String.fromCharCode(65 + at);
    context.save();
    // A wide letter keeps to its cell: it would stand in those beside it.
    context.beginPath();
    context.rect(at * cellWidth, 0, cellWidth, cellHeight);
    context.clip();
    context.fillStyle = colourOf(letter);
    context.fillRect(at * cellWidth, 0, cellWidth, cellHeight);
    context.fillStyle = '#23212b';
    if (cellWidth >= LETTER_MIN_WIDTH) context.fillText(letter, (at + 0.5) * cellWidth, cellHeight / 2 + 0.5);
    context.restore();
  }
  const { data } = context.getImageData(0, 0, canvas.width, height);
  return { pixels: new Uint32Array(data.buffer), width, height };
}

/** Pixels of the page that a letter needs to be read. */
const LETTER_MIN_WIDTH = 8;

/**
 * The cells in sight, pixel by pixel: a call of the canvas for each cell would be a quarter of a million calls where
 * cells are small.
 * @param picture as large as the canvas; what it held is gone
 * Cost  pixels in sight, whatever the alignment has
 */
export function paintCells(
  picture: ImageData,
  { letters, rowCount, columnCount }: Msa,
  { pixels, width, height }: LetterAtlas,
  { left, top, cellWidth, cellHeight }: Sight,
  density: number,
): void {
  // Read once: to ask a picture for its width takes longer than to set a pixel.
  const { width: wide, height: tall } = picture;
  const target = new Uint32Array(picture.data.buffer);
  const columns = placesOf(wide, left, cellWidth, width, density);
  const lines = placesOf(tall, top, cellHeight, height, density);
  const source = new Int32Array(wide);
  let painted = -1;
  for (let y = 0; y < tall; y += 1) {
    const row = lines.cells[y];
    if (row >= rowCount) {
      target.fill(0, y * wide);
      return;
    }
    if (row !== painted) {
      for (let x = 0; x < wide; x += 1) {
        const column = columns.cells[x];
        const letter = column < columnCount ? letters[row * columnCount + column] - 65 : EMPTY_CELL;
        source[x] = (letter >= 0 && letter < EMPTY_CELL ? letter : EMPTY_CELL) * width + columns.within[x];
      }
      painted = row;
    }
    const [start, line] = [y * wide, lines.within[y] * CELLS * width];
    for (let x = 0; x < wide; x += 1) target[start + x] = pixels[line + source[x]];
  }
}

/**
 * Of each pixel along one axis, its cell, and the pixel of the cell that it is. The middle of a pixel decides, so that
 * no rounding leaves one out of a letter or takes one twice.
 */
function placesOf(
  count: number,
  offset: number,
  cell: number,
  cellPixels: number,
  density: number,
): { readonly cells: Int32Array; readonly within: Int32Array } {
  const first = Math.round(offset * density) + 0.5;
  const pitch = cell * density;
  const cells = Int32Array.from({ length: count }, (_, at) => Math.floor((first + at) / pitch));
  const within = cells.map((own, at) => Math.min(cellPixels - 1, Math.floor(first + at - own * pitch)));
  return { cells, within };
}

/** Pixels of a row that has room for its name. */
const NAME_MIN_HEIGHT = 10;

/** Names of the rows in sight, where they can be read. */
export function paintNames(
  context: CanvasRenderingContext2D,
  { names }: Msa,
  { top, height, cellHeight }: Sight,
  width: number,
  inks: Inks,
): void {
  context.clearRect(0, 0, width, height);
  if (cellHeight < NAME_MIN_HEIGHT) return;
  context.fillStyle = inks.text;
  context.font = `${Math.min(12, cellHeight - 3)}px system-ui, sans-serif`;
  context.textBaseline = 'middle';
  const last = Math.min(names.length, Math.ceil((top + height) / cellHeight));
  for (let row = Math.max(0, Math.floor(top / cellHeight)); row < last; row += 1) {
    context.fillText(names[row], 0, (row + 0.5) * cellHeight - top, width - 8);
  }
}

/** Columns of a piece of the logo: no canvas of it is wider than browsers allow. */
const LOGO_PIECE_COLUMNS = 256;

/** The logo in pieces, each painted when it is first seen. */
export interface Logo {
  /** @param index of the piece */
  piece(index: number): HTMLCanvasElement;
}

/** Over the columns: the logo where letters fit, bars of conservation where they do not. */
export function createLogo(
  summary: MsaSummary,
  cellWidth: number,
  height: number,
  density: number,
  inks: Inks,
): Logo {
  const pieces = new Map<number, HTMLCanvasElement>();
  return {
    piece(index) {
      const known = pieces.get(index);
      if (known !== undefined) return known;
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [LOGO_PIECE_COLUMNS * cellWidth * density, height * density];
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      context.scale(density, density);
      context.textAlign = 'center';
      context.textBaseline = 'alphabetic';
      const first = index * LOGO_PIECE_COLUMNS;
      const last = Math.min(summary.depth.length, first + LOGO_PIECE_COLUMNS);
      for (let column = first; column < last; column += 1)
        paintColumn(context, summary, column, (column - first) * cellWidth, cellWidth, height, inks);
      pieces.set(index, canvas);
      return canvas;
    },
  };
}

/** The pieces in sight. */
export function paintLogo(
  context: CanvasRenderingContext2D,
  logo: Logo,
  { left, width, cellWidth }: Sight,
  height: number,
): void {
  const pieceWidth = LOGO_PIECE_COLUMNS * cellWidth;
  context.clearRect(0, 0, width, height);
  for (let index = Math.floor(left / pieceWidth); index * pieceWidth < left + width; index += 1)
    context.drawImage(logo.piece(index), index * pieceWidth - left, 0, pieceWidth, height);
}

function paintColumn(
  context: CanvasRenderingContext2D,
  { counts, conservation }: MsaSummary,
  column: number,
  x: number,
  cellWidth: number,
  height: number,
  inks: Inks,
): void {
  const size = ALPHABET.length;
  const stack = (conservation[column] / Math.log2(size)) * height;
  if (cellWidth < LETTER_MIN_WIDTH) {
    context.fillStyle = inks.accent;
    context.fillRect(x, height - stack, Math.max(1, cellWidth - 0.5), stack);
    return;
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
  context.lineWidth = 1.5 * devicePixelRatio;
  context.stroke();
}

/** From pale, hardly any letter of the query, to deep, all of them. */
export function identityColour(identity: number): string {
  const share = Math.min(1, identity);
  const hue = (392 - 140 * share) % 360;
  return `hsl(${hue.toFixed(0)} ${(58 - 8 * share).toFixed(0)}% ${(76 - 40 * share).toFixed(0)}%)`;
}
