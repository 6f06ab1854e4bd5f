import type { FastaInput, FastaPlace } from '../../../sequence/fasta.js';
import { decompress, readLines } from '../../../sequence/input-file.js';
import type { SourceField, SourceProtein } from '../protein-source.js';

/** Names of formats, as `--format` takes them. */
export type FormatName = 'fasta' | 'uniprot-dat' | 'uniprot-xml' | 'mmcif' | 'pdb';

/** A way in which files hold proteins. */
export interface ProteinFormat {
  readonly name: FormatName;
  /** What people call it. */
  readonly title: string;
  /** Whether a file whose decompressed text begins so is of this format. */
  isRecognised(head: string): boolean;
  /** What its proteins may have; each is optional. */
  readonly fields: readonly SourceField[];
  /** The proteins in the file's order, held one at a time. Errors  Refusal with file, line and record */
  read(input: FastaInput): AsyncIterable<SourceProtein>;
}

/** Where a reader of lines stands; `line` counts those that it was given. */
export interface LinePlace {
  readonly file: string;
  line: number;
  record: number;
}

/** Lines of a text file, plain or compressed; `place.line` is the one given last. Errors  those of `readLines` */
export async function* linesOf(input: FastaInput, place: LinePlace): AsyncGenerator<string> {
  const text = decompress(input.bytes, () => `${place.file}, line ${place.line}`);
  for await (const block of readLines(text, input.file)) {
    for (const line of block) {
      place.line += 1;
      yield line;
    }
  }
}

/** A place that stays what it is. */
export function placeNow({ file, line, record }: LinePlace): FastaPlace {
  return { file, line, record };
}
