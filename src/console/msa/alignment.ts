/** A multiple sequence alignment, column by column over the query. */
export interface Msa {
  readonly names: readonly string[];
  /** Upper-case letters by row and column, as character codes; '-' in a gap. Shape  [rowCount × columnCount] */
  readonly letters: Uint8Array;
  readonly rowCount: number;
  readonly columnCount: number;
}

const GAP = '-'.charCodeAt(0);
export const ALPHABET = 'ACDEFGHIKLMNPQRSTVWY';

/** Parses A3M text. Lower-case letters are insertions between columns and are dropped. */
export function readA3m(text: string): Msa {
  const records = text.split(/^>/m).filter((record) => record.trim() !== '');
  const parts = records.map((record) => {
    const end = record.indexOf('\n');
    return {
      name: (record.slice(0, end).split(/\s/)[0] ?? '').trim(),
      row: record.slice(end).replaceAll(/[^A-Z-]/g, ''),
    };
  });
  const columnCount = parts[0]?.row.length ?? 0;
  const letters = new Uint8Array(parts.length * columnCount).fill(GAP);
  for (const [row, part] of parts.entries()) {
    const length = Math.min(columnCount, part.row.length);
    for (let column = 0; column < length; column += 1) {
      letters[row * columnCount + column] = part.row.charCodeAt(column);
    }
  }
  return { names: parts.map(({ name }) => name), letters, rowCount: parts.length, columnCount };
}

/** Statistics by column and by row of an alignment. */
export interface MsaSummary {
  /** Number of rows with a residue. Shape  [columnCount] */
  readonly depth: Uint32Array;
  /** Number of rows with each letter of ALPHABET. Shape  [columnCount × letters] */
  readonly counts: Uint32Array;
  /** Shape  [columnCount]. Unit  bits. Range  0 for uniform letters to 4.3 for a single letter */
  readonly conservation: Float32Array;
  /** Share of the row's residues that equal the query's. Shape  [rowCount]. Range  0..1 */
  readonly identity: Float32Array;
}

/** Cost  rows × columns */
export function summarise({ letters, rowCount, columnCount }: Msa): MsaSummary {
  const size = ALPHABET.length;
  const index = new Int8Array(128).fill(-1);
  [...ALPHABET].forEach((letter, at) => (index[letter.charCodeAt(0)] = at));
  const depth = new Uint32Array(columnCount);
  const counts = new Uint32Array(columnCount * size);
  const identity = new Float32Array(rowCount);
  for (let row = 0; row < rowCount; row += 1) {
    let [residues, same] = [0, 0];
    for (let column = 0; column < columnCount; column += 1) {
      const letter = letters[row * columnCount + column];
      if (letter === GAP) continue;
      residues += 1;
      depth[column] += 1;
      if (letter === letters[column]) same += 1;
      const at = index[letter];
      if (at >= 0) counts[column * size + at] += 1;
    }
    identity[row] = residues === 0 ? 0 : same / residues;
  }
  return { depth, counts, conservation: conservationOf(counts, depth), identity };
}

/** Log₂ 20 minus the entropy of the letters. Source  Schneider & Stephens 1990, without the small-sample term */
function conservationOf(counts: Uint32Array, depth: Uint32Array): Float32Array {
  const size = ALPHABET.length;
  return Float32Array.from(depth, (_, column) => {
    const own = counts.subarray(column * size, (column + 1) * size);
    const total = own.reduce((sum, each) => sum + each, 0);
    let bits = total === 0 ? 0 : Math.log2(size);
    for (const each of own) if (each > 0) bits += (each / total) * Math.log2(each / total);
    return bits;
  });
}
