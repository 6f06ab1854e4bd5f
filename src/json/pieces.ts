import { Slice } from '../turns.js';

/** A JSON text as chunks of UTF-8, in order. A large text is never held as one string. */
export type JsonPieces = readonly Uint8Array[];

/** Approximate length of one piece. Unit: characters. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * Returns the bytes that JSON.stringify writes for a value. It yields to the event loop while it writes the arrays
 * among an object's members. Values are plain data, without `toJSON` and without sparse arrays.
 * Errors  TypeError for values that JSON cannot represent
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

/** Buffers text and encodes it piece by piece. */
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
