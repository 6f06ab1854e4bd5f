import { isUtf8 } from 'node:buffer';
import { Refusal } from '../errors.js';
import { JSON_BLANKS_MAX_BYTES, JSON_NUMBER_MAX_BYTES, MEBIBYTE_BYTES } from '../limits.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const SPACE = 0x20;
const TAB = 0x09;
const LINE_END = 0x0a;
const RETURN = 0x0d;
/** Characters of literals and numbers. */
const WORD = /[\w+.-]/;
const IS_WORD = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(code < 128 && WORD.test(String.fromCharCode(code))),
);
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const HEX = /^[0-9a-fA-F]{4}$/;
/** Bytes of a string read between two pauses; they take about ten microseconds. */
const STRING_PIECE_BYTES = 64 * 1024;
/** Errors up to this offset name line and column, later errors the byte. */
const COUNTED_LINES_BYTES = MEBIBYTE_BYTES;

/** Tokenizer of a JSON text, without the grammar. All errors are Refusals `invalid_json`. */
export class JsonText {
  readonly #bytes: Buffer;
  /** Offset of the next byte. */
  at = 0;

  /** Errors  if the text is empty, not UTF-8, or begins with a byte order mark */
  constructor(text: Uint8Array) {
    this.#bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
    if (text.length === 0) throw invalid('The body is empty; a JSON value was expected.');
    if (!isUtf8(text)) throw invalid('The body is not UTF-8.');
    if (text[0] === 0xef && text[1] === 0xbb && text[2] === 0xbf) {
      this.refuse('a byte order mark stands before the JSON text', 0);
    }
  }

  /** Skips blanks and returns the offset of the next byte. */
  nextAt(): number {
    const bytes = this.#bytes;
    const most = this.at + JSON_BLANKS_MAX_BYTES;
    let { at } = this;
    for (let code = bytes[at]; code === SPACE || code === LINE_END || code === RETURN || code === TAB;) {
      if (at === most) this.refuse(`more than ${JSON_BLANKS_MAX_BYTES} blanks stand in a row`, at);
      at += 1;
      code = bytes[at];
    }
    this.at = at;
    return at;
  }

  /** Consumes the character if it is next. Returns whether it did. */
  takes(character: string): boolean {
    if (this.#bytes[this.nextAt()] !== character.charCodeAt(0)) return false;
    this.at += 1;
    return true;
  }

  require(character: string, what: string): void {
    if (!this.takes(character)) this.expected(what);
  }

  requireEnd(): void {
    if (this.nextAt() < this.#bytes.length) this.expected('the end');
  }

  startsString(): boolean {
    return this.#bytes[this.nextAt()] === QUOTE;
  }

  /** Reads the string that begins here; yields after each piece of a long string. */
  *string(): Generator<void, string> {
    const pieces: string[] = [];
    this.at += 1;
    for (;;) {
      const { text, isEnd } = this.#stringPiece();
      if (isEnd && pieces.length === 0) return text;
      pieces.push(text);
      if (isEnd) return pieces.join('');
      yield;
    }
  }

  /** Reads the number or literal that begins here. */
  word(): unknown {
    const start = this.at;
    const most = start + JSON_NUMBER_MAX_BYTES;
    let end = start;
    while (IS_WORD[this.#bytes[end] as number] === 1 && end <= most) end += 1;
    const word = this.#bytes.toString('latin1', start, end);
    if (end > most) this.refuse(`a number has more than ${JSON_NUMBER_MAX_BYTES} characters`, start);
    this.at = end;
    if (word === 'true') return true;
    if (word === 'false') return false;
    if (word === 'null') return null;
    if (!NUMBER.test(word)) this.#expectedAt('a value', start);
    const number = Number(word);
    if (Math.abs(number) === Infinity) this.refuse('a number is past the range of a double', start);
    return number;
  }

  expected(what: string): never {
    return this.#expectedAt(what, this.nextAt());
  }

  refuse(why: string, at: number): never {
    throw invalid(`The body is not acceptable JSON: ${why} (${this.#placeOf(at)}).`);
  }

  /** Reads up to the end of the string, or about STRING_PIECE_BYTES of it; never splits a UTF-8 character. */
  #stringPiece(): { readonly text: string; readonly isEnd: boolean } {
    const bytes = this.#bytes;
    const start = this.at;
    const pieceEnd = start + STRING_PIECE_BYTES;
    let { at } = this;
    let isEscaped = false;
    for (;;) {
      const code = bytes[at];
      if (code === undefined) this.#expectedAt('the end of a string', at);
      if (code === QUOTE) break;
      if (code < SPACE) this.refuse('a string has a control character that is not escaped', at);
      // A UTF-8 continuation byte begins with the bits 10.
      if (at >= pieceEnd && (code & 0xc0) !== 0x80) break;
      if (code === BACKSLASH) {
        isEscaped = true;
        at = this.#endOfEscape(at);
      } else at += 1;
    }
    const isEnd = bytes[at] === QUOTE;
    this.at = isEnd ? at + 1 : at;
    const text = bytes.toString('utf8', start, at);
    return { text: isEscaped ? this.#unescaped(text, start) : text, isEnd };
  }

  /** Returns the offset behind an escape, or behind both escapes of a surrogate pair. */
  #endOfEscape(at: number): number {
    if (this.#bytes[at + 1] !== LETTER_U) return at + 2;
    const unit = this.#unitAt(at);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    const isPair = unit < 0xdc00 && this.#bytes[at + 6] === BACKSLASH && this.#bytes[at + 7] === LETTER_U;
    const low = isPair ? this.#unitAt(at + 6) : 0;
    if (low < 0xdc00 || low > 0xdfff) this.refuse('a string has an unpaired surrogate', at);
    return at + 12;
  }

  #unitAt(at: number): number {
    const digits = this.#bytes.toString('latin1', at + 2, at + 6);
    return HEX.test(digits) ? parseInt(digits, 16) : this.#expectedAt('four hexadecimal digits', at + 2);
  }

  #unescaped(text: string, start: number): string {
    try {
      return JSON.parse(`"${text}"`) as string;
    } catch {
      return this.refuse('a string has an escape that JSON does not know', start);
    }
  }

  #expectedAt(what: string, at: number): never {
    const came = at < this.#bytes.length ? '' : ', and the text ends';
    throw invalid(`The body is not JSON: ${what} was expected${came} (${this.#placeOf(at)}).`);
  }

  #placeOf(at: number): string {
    if (at > COUNTED_LINES_BYTES) return `byte ${at + 1}`;
    const before = this.#bytes.toString('utf8', 0, at);
    const lineStart = before.lastIndexOf('\n') + 1;
    const line = before.split('\n').length;
    return `line ${line}, column ${before.length - lineStart + 1}`;
  }
}

function invalid(message: string): Refusal {
  return new Refusal('invalid_json', message);
}
