import { Refusal } from '../../../errors.js';
import { decompress, readLines } from '../../../sequence/input-file.js';
import { readUnpackedFile } from '../../../sequence/unpack.js';

/** Returns the refusal of the latest line, with its place. */
export type RefuseLine = (problem: string) => Refusal;

export interface TableLine {
  readonly text: string;
  readonly refuse: RefuseLine;
}

/** Yields the non-empty lines of a table, plain or compressed. Errors  those of reading */
export async function* tableLines(path: string): AsyncGenerator<TableLine> {
  let line = 0;
  const refuse: RefuseLine = (problem) =>
    new Refusal('invalid_metadata', `${path}, line ${line}: ${problem}.`, { file: path, line });
  for await (const block of readLines(
    decompress(readUnpackedFile(path), () => `${path}, line ${line}`),
    path,
  )) {
    for (const text of block) {
      line += 1;
      if (text.trim() !== '') yield { text, refuse };
    }
  }
}
