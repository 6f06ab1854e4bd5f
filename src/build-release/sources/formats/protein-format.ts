import { Refusal } from '../../../errors.js';
import type { FastaInput, FastaPlace } from '../../../sequence/fasta.js';
import { decompress, readLines } from '../../../sequence/input-file.js';
import type { SourceField, SourceProtein } from '../protein-source.js';

/** Values of `--format`. */
export type FormatName =
  | 'fasta'
  | 'uniprot-dat'
  | 'uniprot-xml'
  | 'mmcif'
  | 'pdb'
  | 'stockholm'
  | 'a3m'
  | 'hmmer3'
  | 'hh-suite'
  | 'mmseqs'
  | 'tar';

/** A file format for proteins. */
export interface ProteinFormat {
  readonly name: FormatName;
  /** Name for messages. */
  readonly title: string;
  /** Whether a file is of this format, from the beginning of its decompressed text. */
  isRecognised(head: string): boolean;
  /** Whether its proteins are families. Default false. */
  readonly hasFamilies?: boolean;
  /** Files that it reads besides the given one. Errors  Refusal `file_not_found` */
  beside?(path: string): readonly string[];
  /** Fields that its proteins may have; all are optional. */
  readonly fields: readonly SourceField[];
  /**
   * Yields the proteins in the order of the file, one in memory at a time.
   * Errors  Refusal with file, line and record
   */
  read(input: FastaInput): AsyncIterable<SourceProtein>;
}

/** Position of a reader of lines; `line` is the number of lines read. */
export interface LinePlace {
  readonly file: string;
  line: number;
  record: number;
}

/**
 * Yields the lines of a text file, plain or compressed, and updates `place.line`.
 * Errors  those of `readLines`
 * @param otherwise  as of `readLines`
 */
export async function* linesOf(
  input: FastaInput,
  place: LinePlace,
  otherwise?: 'latin1',
): AsyncGenerator<string> {
  const text = decompress(input.bytes, () => `${place.file}, line ${place.line}`);
  for await (const block of readLines(text, input.file, otherwise)) {
    for (const line of block) {
      place.line += 1;
      yield line;
    }
  }
}

/** Returns a copy of the current place. */
export function placeNow({ file, line, record }: LinePlace): FastaPlace {
  return { file, line, record };
}

/** Returns the refusal of an alignment at the current line; an empty file is refused at line 1. */
export function refuseAt({ file, line: linesRead }: LinePlace, problem: string, title: string): Refusal {
  const line = Math.max(1, linesRead);
  return new Refusal('invalid_alignment', `${file}, line ${line}: ${problem} (${title}).`, { file, line });
}
