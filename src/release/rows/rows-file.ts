import type { RowsFrame } from '../format.js';
import { openHashedFile, type HashedFile } from '../hashed-file.js';
import type { RowsEntry } from '../release.js';

/** tokens.arrow or profiles.arrow as it is written, row after row. */
export interface RowsFile extends Pick<HashedFile, 'write' | 'sync' | 'abandon'> {
  /** Closes the frame around the values. */
  finish(): Promise<RowsEntry>;
}

/** Opens the file for writing after the values that are kept; what stands after them is cut off. */
export async function openRowsFile(
  path: string,
  frame: RowsFrame,
  keptValueBytes: number,
): Promise<RowsFile> {
  const file = await openHashedFile(path, keptValueBytes === 0 ? 0 : frame.start.length + keptValueBytes);
  if (keptValueBytes === 0) await file.write(frame.start);
  return {
    write: (bytes) => file.write(bytes),
    sync: () => file.sync(),
    abandon: () => file.abandon(),
    async finish() {
      await file.write(frame.end);
      const entry = await file.finish();
      return {
        ...entry,
        values_byte_offset: frame.start.length,
        values_byte_length: frame.valuesByteLength,
      };
    },
  };
}
