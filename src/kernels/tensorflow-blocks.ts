import { open, type FileHandle } from 'node:fs/promises';
import { Fault } from '../errors.js';
import type { TokenSource } from './kernels.js';

/** Targets of similar length, each padded to `rows` rows. */
export interface TargetBlock {
  readonly targets: Uint32Array;
  readonly rows: number;
}

/**
 * Sorts the targets by length and divides them into blocks of at most maxRows padded rows, so that little is padded.
 * A longer target is a block of its own.
 * Shape   residueStarts [targets + 1], ascending
 * Unit    rows of tokens; a block lists target indices
 */
export function planBlocks(residueStarts: Uint32Array, maxRows: number): readonly TargetBlock[] {
  const lengthOf = (target: number): number => residueStarts[target + 1] - residueStarts[target];
  const order = Uint32Array.from({ length: residueStarts.length - 1 }, (_, target) => target);
  order.sort((a, b) => lengthOf(a) - lengthOf(b) || a - b);
  const blocks: TargetBlock[] = [];
  for (let start = 0; start < order.length;) {
    let end = start + 1;
    while (end < order.length && (end + 1 - start) * lengthOf(order[end]) <= maxRows) end++;
    blocks.push({ targets: order.subarray(start, end), rows: lengthOf(order[end - 1]) });
    start = end;
  }
  return blocks;
}

/** Reads tokens block by block, from memory or from a range of a file. */
export interface BlockReader {
  /**
   * Tokens of a block, [targets × rows × dimension]. A target is padded by its own first row, because a repeated row
   * changes no maximum over the target's rows.
   * Errors  Fault if the file ends too early
   */
  read(block: TargetBlock): Promise<Float32Array>;
  close(): Promise<void>;
}

/** Opens the token file of a release for reading block by block. Errors  those of the file system */
export async function openBlockReader(source: TokenSource): Promise<BlockReader> {
  const { tokens, dimension, residueStarts } = source;
  const file = 'path' in tokens ? await open(tokens.path, 'r') : undefined;
  const rowsOf = async (target: number): Promise<Int8Array> => {
    const [start, end] = [residueStarts[target] * dimension, residueStarts[target + 1] * dimension];
    if ('values' in tokens) return tokens.values.subarray(start, end);
    return readRange(file!, tokens.byteOffset + start, end - start);
  };
  const read = async ({ targets, rows }: TargetBlock): Promise<Float32Array> => {
    const stride = rows * dimension;
    const padded = new Float32Array(targets.length * stride);
    for (const [i, target] of targets.entries()) {
      const values = await rowsOf(target);
      const place = padded.subarray(i * stride, (i + 1) * stride);
      place.set(values);
      for (let row = values.length; row < stride; row += dimension)
        place.set(values.subarray(0, dimension), row);
    }
    return padded;
  };
  return { read, close: async () => file?.close() };
}

async function readRange(file: FileHandle, position: number, length: number): Promise<Int8Array> {
  const values = new Int8Array(length);
  const { bytesRead } = await file.read(values, 0, length, position);
  if (bytesRead < length) throw new Fault(`The token file ends ${length - bytesRead} bytes too early.`);
  return values;
}
