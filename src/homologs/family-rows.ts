import type { AlignmentRow } from './aligned-row.js';
import { FAMILY_MAX_CELLS, FAMILY_MAX_ROWS } from '../limits.js';

/** An even sample of the rows of one alignment, in their order. Memory does not grow with the number of rows. */
export interface FamilyRows {
  /** Number of rows added so far. */
  readonly count: number;
  /** Sampled rows, among them the first. At most twice FAMILY_MAX_ROWS. */
  readonly rows: readonly AlignmentRow[];
  /** Adds a row. Builds its text only if the row is sampled. */
  add(id: string, text: () => string): void;
}

/**
 * Creates an empty sample. Every row is taken until the sample is full. Then every second row is dropped, and from then
 * on only every second, fourth, eighth … row is taken. The sample depends on the number of rows alone.
 */
export function createFamilyRows(): FamilyRows {
  let rows: AlignmentRow[] = [];
  let [count, stride] = [0, 1];
  return {
    get count() {
      return count;
    },
    get rows() {
      return rows;
    },
    add(id, text) {
      count += 1;
      if ((count - 1) % stride !== 0) return;
      rows.push({ id, text: text() });
      if (rows.length < fullCount(rows[0].text.length)) return;
      rows = everySecond(rows);
      stride *= 2;
    },
  };
}

/** An even sample of the rows of a wrapped alignment, whose rows continue in several blocks. */
export interface WrappedRows extends Omit<FamilyRows, 'add'> {
  /**
   * Adds a piece of a row. The name of the first row begins a new block, and must follow the end of a block.
   * @returns what is wrong with the piece, as the end of a sentence; undefined if nothing is
   */
  add(id: string, piece: string): string | undefined;
  /** Ends a block, as a line without a row does. Has no effect if the block continues. */
  endBlock(): void;
  /** What is wrong with the last block; undefined if nothing is. */
  finish(): string | undefined;
}

/** Creates an empty sample of rows in blocks, as Stockholm files have them. It is that of createFamilyRows. */
export function createWrappedRows(): WrappedRows {
  let rows: { id: string; text: string }[] = [];
  let [count, stride, place, width, blocks, total] = [0, 1, 0, 0, 0, 0];
  /** Name of the row before in the same block. */
  let before: string | undefined;
  const thin = (): void => {
    while (rows.length >= fullCount(total) && rows.length > 1) {
      rows = everySecond(rows);
      stride *= 2;
    }
  };
  const problemOfBlock = (): string | undefined =>
    blocks > 1 && place !== count
      ? `follows a block of ${place} rows, and the first block has ${count}`
      : undefined;
  return {
    get count() {
      return count;
    },
    get rows() {
      return rows;
    },
    add(id, piece) {
      if (before !== undefined && (id === before || id === rows[0].id)) return 'occurs twice in its block';
      before = id;
      if (rows.length === 0 || rows[0].id === id) {
        const problem = problemOfBlock();
        if (problem !== undefined) return problem;
        [blocks, place, width, total] = [blocks + 1, 0, piece.length, total + piece.length];
        thin();
      }
      if (piece.length !== width)
        return `has ${piece.length} columns, and the first row of its block has ${width}`;
      const at = place;
      place += 1;
      if (blocks === 1) count += 1;
      else if (at >= count) return `is row ${place} of its block, and the first block has ${count}`;
      if (at % stride !== 0) return undefined;
      if (blocks === 1) {
        rows.push({ id, text: piece });
        thin();
        return undefined;
      }
      const row = rows[at / stride];
      if (row.id !== id) return `continues a block whose row in this place is ${JSON.stringify(row.id)}`;
      row.text += piece;
      return undefined;
    },
    endBlock: () => void (before = undefined),
    finish: problemOfBlock,
  };
}

/** Number of rows at which a sample is thinned out. ≥ 2 */
function fullCount(width: number): number {
  return Math.max(2, Math.min(2 * FAMILY_MAX_ROWS, Math.floor(FAMILY_MAX_CELLS / Math.max(1, width))));
}

function everySecond<Item>(list: readonly Item[]): Item[] {
  return list.filter((_, index) => index % 2 === 0);
}
