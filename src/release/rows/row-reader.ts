import { open } from 'node:fs/promises';
import { Fault } from '../../errors.js';
import type { RowSource, TokenSource } from '../../kernels/kernels.js';

/** Reads rows of a release's tokens as they stand in its file. */
export interface RowReader {
  /** Rows from this one on, row-major. Errors  Fault where the file ends early */
  read(firstRow: number, count: number): Promise<Int8Array>;
  close(): Promise<void>;
}

export function openRowReader({
  tokens,
  dimension,
}: Pick<TokenSource, 'tokens' | 'dimension'>): Promise<RowReader> {
  return openRows(tokens, dimension);
}

async function openRows(source: RowSource, width: number): Promise<RowReader> {
  if ('values' in source) {
    return {
      read: async (firstRow, count) => source.values.subarray(firstRow * width, (firstRow + count) * width),
      close: async () => undefined,
    };
  }
  const { path, byteOffset } = source;
  const handle = await open(path, 'r');
  return {
    async read(firstRow, count) {
      const rows = new Int8Array(count * width);
      const { bytesRead } = await handle.read(rows, 0, rows.length, byteOffset + firstRow * width);
      if (bytesRead !== rows.length) throw new Fault(`${path} ends before row ${firstRow + count}.`);
      return rows;
    },
    close: () => handle.close(),
  };
}
