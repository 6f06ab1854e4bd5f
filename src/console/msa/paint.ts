import { ALPHABET, type Msa, type MsaSummary } from './alignment.js';

/** Colours by chemical class of the residue. All are light enough for dark text. */
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

/** Visible part of the alignment, in pixels from the upper left corner. */
export interface Sight {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Width of a column and height of a row. Unit  pixels */
  readonly cellWidth: number;
  readonly cellHeight: number;
}

export interface Inks {
  readonly text: string;
  readonly accent: string;
}

/** Each letter, painted once in device pixels. A frame copies the pixels. */
export interface LetterAtlas {
  /** Row-major pixels of all cells side by side: the letters, then an empty cell. */
  readonly pixels: Uint32Array;
  /** Width of one cell. Unit  device pixels */
  readonly width: number;
  readonly height: number;
}

const CELLS = 27;
const EMPTY_CELL = 26;

/**
 * Paints the letters.
 * @param density device pixels in one CSS pixel
 */
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
    // Clips a wide letter to its cell. Without the clip it would overlap its neighbours.
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

/** Smallest cell width in which a letter is readable. Unit  CSS pixels */
const LETTER_MIN_WIDTH = 8;

/**
 * Paints the visible cells pixel by pixel. One canvas call a cell would be a quarter of a million calls when cells are
 * small.
 * @param picture as large as the canvas; its content is overwritten
 * Cost    proportional to the visible pixels, independent of the size of the alignment
 */
export function paintCells(
  picture: ImageData,
  { letters, rowCount, columnCount }: Msa,
  { pixels, width, height }: LetterAtlas,
  { left, top, cellWidth, cellHeight }: Sight,
  density: number,
): void {
  // Read once: reading the width of a picture takes longer than setting a pixel.
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
 * Maps each pixel along one axis to its cell, and to a pixel of that cell. The centre of the pixel decides, so that
 * rounding neither skips a pixel of a letter nor repeats one.
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

/** Smallest row height in which a name is readable. Unit  CSS pixels */
const NAME_MIN_HEIGHT = 10;

/** Paints the names of the visible rows if the rows are tall enough. */
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

/** Columns in one piece of the logo. Browsers limit the width of a canvas. */
const LOGO_PIECE_COLUMNS = 256;

/** The logo in pieces. Each piece is painted at its first use. */
export interface Logo {
  /** @param index number of the piece, from 0 */
  piece(index: number): HTMLCanvasElement;
}

/** Creates the strip above the columns: a sequence logo, or bars of conservation where letters do not fit. */
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
      const cached = pieces.get(index);
      if (cached !== undefined) return cached;
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

/** Paints the visible pieces. */
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

/** Paints a letter, stretched to its share of the column's height. */
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

/** Text colours of the classes: darker than the cell colours, for contrast with the page. */
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
 * Plots the coverage in the manner of structure predictors. Rows are sorted by identity with the query, the most
 * identical at the bottom; a line is the number of rows with a residue.
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

/** Colour of an identity: pale at 0, dark at 1. */
export function identityColour(identity: number): string {
  const share = Math.min(1, identity);
  const hue = (392 - 140 * share) % 360;
  return `hsl(${hue.toFixed(0)} ${(58 - 8 * share).toFixed(0)}% ${(76 - 40 * share).toFixed(0)}%)`;
}
