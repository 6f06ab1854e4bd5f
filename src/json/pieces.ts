import { Slice } from '../turns.js';

/** A JSON text as its UTF-8 bytes in order: a large one is never one string. */
export type JsonPieces = readonly Uint8Array[];

/** Characters of one piece, about. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * What JSON.stringify would write of a value, as bytes; the elements of the lists among an object's members are
 * written in slices. Values are data: no `toJSON`, and no list with gaps.
 */
export async function jsonInTurns(value: unknown): Promise<JsonPieces> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return [Buffer.from(JSON.stringify(value))];
  const writer = new PieceWriter();
  let separator = '{';
  for (const [name, member] of Object.entries(value) as [string, unknown][]) {
    if (member === undefined) continue;
    writer.write(`${separator}${JSON.stringify(name)}:`);
    separator = ',';
    if (Array.isArray(member)) await writeList(member, writer);
    else writer.write(JSON.stringify(member));
  }
  writer.write(separator === '{' ? '{}' : '}');
  return writer.end();
}

async function writeList(list: readonly unknown[], writer: PieceWriter): Promise<void> {
  const slice = new Slice();
  writer.write('[');
  for (const [index, element] of list.entries()) {
    writer.write(`${index === 0 ? '' : ','}${JSON.stringify(element)}`);
    if (slice.isOver) await slice.pause();
  }
  writer.write(']');
}

/** Texts that become bytes when there are enough of them. */
class PieceWriter {
  readonly #pieces: Uint8Array[] = [];
  #text = '';

  write(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_CHARACTERS) this.#close();
  }

  end(): JsonPieces {
    this.#close();
    return this.#pieces;
  }

  #close(): void {
    this.#pieces.push(Buffer.from(this.#text));
    this.#text = '';
  }
}
