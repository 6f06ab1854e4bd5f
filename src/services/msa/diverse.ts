import type { Slice } from '../../turns.js';

/** Bounds on the similarity of rows. */
export interface Diversity {
  /** Largest identity of two rows over the columns in which both have a residue; 1 removes no row. */
  readonly maximumIdentity: number;
  /** Rows that fill half of each BLOCK_COLUMNS columns before the identity bound is tightened; 0 tightens nothing. */
  readonly diverseRowCount: number;
}

/** A row as columns of the query: code of each letter, 0 for a gap. */
interface Columns {
  readonly codes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly residueCount: number;
  /** Blocks of BLOCK_COLUMNS columns of which the row has residues in at least half. */
  readonly filled: readonly number[];
  /** Blocks in which the row counts as diverse: the filled ones, or all that a short row touches. */
  readonly wanted: readonly number[];
}

const BLOCK_COLUMNS = 50;
/** Strictest identity bound, which is relaxed step by step. */
const STRICTEST_IDENTITY = 0.2;
const IDENTITY_STEP = 0.05;

/**
 * Positions of the rows that stay, ascending. Of two rows that are too similar the first stays. The query, which is no
 * row, precedes all.
 * Cost    pairs of rows × the columns until they differ enough; @param slice pauses, and throws to end it
 * Errors  those of `slice`
 * Source  hhfilter of the HH-suite, -id and -diff; in the order of evidence, where hhfilter takes the longest first
 */
export async function diverseRows(
  query: string,
  rows: readonly string[],
  { maximumIdentity, diverseRowCount }: Diversity,
  slice: Pick<Slice, 'isOver' | 'pause'>,
): Promise<readonly number[]> {
  const columns: Columns[] = [];
  for (const row of rows) {
    if (slice.isOver) await slice.pause();
    columns.push(columnsOf(row, query.length));
  }
  const diverse = new Set<number>();
  const columnsOfRows = [columnsOf(query, query.length)];
  const depths = new Uint32Array(Math.ceil(query.length / BLOCK_COLUMNS));
  const isDiverse = (row: Columns): boolean =>
    diverseRowCount === 0 || row.wanted.some((block) => depths[block] < diverseRowCount);
  for (const bound of boundsUpTo(maximumIdentity, diverseRowCount)) {
    for (const [at, row] of columns.entries()) {
      if (slice.isOver) await slice.pause();
      if (diverse.has(at) || !isDiverse(row) || columnsOfRows.some((other) => areAlike(row, other, bound)))
        continue;
      diverse.add(at);
      columnsOfRows.push(row);
      for (const block of row.filled) depths[block] += 1;
    }
  }
  return [...diverse].sort((left, right) => left - right);
}

function boundsUpTo(maximum: number, diverseRowCount: number): number[] {
  const bounds: number[] = [];
  if (diverseRowCount > 0)
    for (let bound = STRICTEST_IDENTITY; bound < maximum; bound += IDENTITY_STEP) bounds.push(bound);
  return [...bounds, maximum];
}

/** Upper-case letters and gaps are columns. Lower-case letters are insertions between columns. */
function columnsOf(row: string, length: number): Columns {
  const codes = new Uint8Array(length);
  let column = 0;
  let start = length;
  let end = 0;
  let residueCount = 0;
  for (let at = 0; at < row.length; at += 1) {
    const code = row.charCodeAt(at);
    if (code >= LOWER_CASE) continue;
    if (code >= UPPER_CASE) {
      codes[column] = code;
      start = Math.min(start, column);
      end = column + 1;
      residueCount += 1;
    }
    column += 1;
  }
  const touched = touchedBlocks(codes, start, end);
  const filled = [...touched].flatMap(([block, residues]) => {
    const columns = Math.min(BLOCK_COLUMNS, length - block * BLOCK_COLUMNS);
    return 2 * residues >= columns ? [block] : [];
  });
  const wanted = filled.length > 0 ? filled : [...touched.keys()];
  return { codes, start, end, residueCount, filled, wanted };
}

const UPPER_CASE = 'A'.charCodeAt(0);
const LOWER_CASE = 'a'.charCodeAt(0);

/** Returns the number of residues in each block that has any. */
function touchedBlocks(codes: Uint8Array, start: number, end: number): ReadonlyMap<number, number> {
  const residues = new Map<number, number>();
  for (let column = start; column < end; column += 1) {
    if (codes[column] === 0) continue;
    const block = Math.floor(column / BLOCK_COLUMNS);
    residues.set(block, (residues.get(block) ?? 0) + 1);
  }
  return residues;
}

/** Whether more than `bound` of the columns in which both rows have a residue are identical. */
function areAlike(left: Columns, right: Columns, bound: number): boolean {
  if (bound >= 1) return false;
  const start = Math.max(left.start, right.start);
  const end = Math.min(left.end, right.end);
  const most = Math.min(end - start, left.residueCount, right.residueCount);
  const enough = (1 - bound) * most;
  let shared = 0;
  let different = 0;
  for (let column = start; column < end; column += 1) {
    const one = left.codes[column];
    const other = right.codes[column];
    if (one === 0 || other === 0) continue;
    shared += 1;
    if (one !== other) different += 1;
    if (different >= enough) return false;
  }
  return shared > 0 && different < (1 - bound) * shared;
}
