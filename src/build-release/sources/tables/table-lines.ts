import { Refusal } from '../../../errors.js';
import { decompress, readLines } from '../../../sequence/input-file.js';
import { readUnpackedFile } from '../../../sequence/unpack.js';

/** What is wrong with the line that was given last, in one sentence with its place. */
export type RefuseLine = (problem: string) => Refusal;

export interface TableLine {
  readonly text: string;
  readonly refuse: RefuseLine;
}

/** Lines of a file beside the sequences, plain or compressed, empty ones left out. Errors  those of reading */
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
