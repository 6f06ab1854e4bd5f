import type { Slice } from '../../turns.js';

/** What makes rows too much alike. */
export interface Diversity {
  /** Greatest identity of two rows over the columns in which both have a residue; 1 leaves all. */
  readonly maximumIdentity: number;
  /** Rows that every BLOCK_COLUMNS columns keep while rows are asked to differ by more; 0 asks for no more. */
  readonly diverseRowCount: number;
}

/** A row as columns of the query: its letter's code, 0 for a gap. */
interface Columns {
  readonly codes: Uint8Array;
  readonly start: number;
  readonly end: number;
  readonly residueCount: number;
}

const BLOCK_COLUMNS = 50;
/** Where rows are asked to differ most, and how that is given up step by step. */
const STRICTEST_IDENTITY = 0.2;
const IDENTITY_STEP = 0.05;

/**
 * Positions of the rows that stay, ascending: of two that are too much alike the first does, and the query, which is
 * none of them, before all.
 * Cost    pairs of rows × the columns until they have proved different; @param slice pauses, and throws to end it
 * Source  hhfilter of the HH-suite, -id and -diff; in the order of evidence, where hhfilter takes the longest first
 */
export async function diverseRows(
  query: string,
  rows: readonly string[],
  { maximumIdentity, diverseRowCount }: Diversity,
  slice: Pick<Slice, 'isOver' | 'pause'>,
): Promise<readonly number[]> {
  const columns = rows.map((row) => columnsOf(row, query.length));
  const kept = new Set<number>();
  const keptColumns = [columnsOf(query, query.length)];
  const depths = new Uint32Array(Math.ceil(query.length / BLOCK_COLUMNS));
  const isWanted = (row: Columns): boolean =>
    diverseRowCount === 0 || blocksOf(row).some((block) => depths[block] < diverseRowCount);
  for (const bound of boundsUpTo(maximumIdentity, diverseRowCount)) {
    for (const [at, row] of columns.entries()) {
      if (slice.isOver) await slice.pause();
      if (kept.has(at) || !isWanted(row) || keptColumns.some((other) => areAlike(row, other, bound)))
        continue;
      kept.add(at);
      keptColumns.push(row);
      for (const block of blocksOf(row)) depths[block] += 1;
    }
  }
  return [...kept].sort((left, right) => left - right);
}

function boundsUpTo(maximum: number, diverseRowCount: number): number[] {
  const bounds: number[] = [];
  if (diverseRowCount > 0)
    for (let bound = STRICTEST_IDENTITY; bound < maximum; bound += IDENTITY_STEP) bounds.push(bound);
  return [...bounds, maximum];
}

/** Upper-case letters and gaps are columns; lower-case letters stand between them. */
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
  return { codes, start, end, residueCount };
}

const UPPER_CASE = 'A'.charCodeAt(0);
const LOWER_CASE = 'a'.charCodeAt(0);

function blocksOf({ start, end }: Columns): number[] {
  const first = Math.floor(start / BLOCK_COLUMNS);
  const count = end > start ? Math.floor((end - 1) / BLOCK_COLUMNS) - first + 1 : 0;
  return Array.from({ length: count }, (_, at) => first + at);
}

/** Whether more than `bound` of the columns in which both have a residue have the same. */
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
