import { JSON_MAX_DEPTH, JSON_MAX_VALUES } from '../../limits.js';
import { Refusal } from '../../errors.js';
import { pause } from '../../turns.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
/** Scanned without a pause: some milliseconds. */
const PIECE_CHARACTERS = 1024 * 1024;
const NUMBER = /-?\d[\d.eE+-]*/y;

/**
 * The value of a JSON text that means one thing to every reader.
 * Errors  Refusal `invalid_json` for bytes that are not UTF-8, a byte order mark, a grammar error, a member that stands
 *         twice, `__proto__`, an unpaired surrogate, a number past the range of a double, or nesting deeper than
 *         JSON_MAX_DEPTH; Refusal `body_too_large` past `maxValues`
 * Cost    two passes over the text; the first bounds depth and count before anything is built
 */
export function parseStrictJson(bytes: Uint8Array, maxValues = JSON_MAX_VALUES): unknown {
  const text = decode(bytes);
  for (const _piece of scan(text, maxValues));
  return parse(text);
}

/** The same of a text that may be large: between its pieces others get their turn. */
export async function parseStrictJsonInTurns(bytes: Uint8Array, maxValues?: number): Promise<unknown> {
  const text = decode(bytes);
  for (const _piece of scan(text, maxValues ?? JSON_MAX_VALUES)) await pause();
  await pause();
  return parse(text);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Refusal('invalid_json', `The body is not JSON: ${(error as Error).message}`);
  }
}

function decode(bytes: Uint8Array): string {
  if (bytes.length === 0) throw new Refusal('invalid_json', 'The body is empty; a JSON value was expected.');
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    if (text.charCodeAt(0) === 0xfeff) refuse('a byte order mark stands before the JSON text', text, 0);
    return text;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal('invalid_json', 'The body is not UTF-8.');
  }
}

/** Names of the members seen so far of each open object; null for an open array. */
type Open = Set<string> | null;

/**
 * Looks at strings, numbers and brackets only; what else is wrong with the grammar, JSON.parse says.
 * Yields after each piece of the text.
 */
function* scan(text: string, maxValues: number): Generator<void> {
  const open: Open[] = [];
  let values = 0;
  let at = 0;
  let pieceEnd = PIECE_CHARACTERS;
  while (at < text.length) {
    if (at >= pieceEnd) {
      pieceEnd = at + PIECE_CHARACTERS;
      yield;
    }
    const character = text[at] as string;
    if (character === '"') {
      const end = endOfString(text, at);
      const string = readString(text, at, end);
      const isName = noteName(open.at(-1), string, text, at, end);
      values += isName ? 0 : 1;
      at = end;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : null);
      if (open.length > JSON_MAX_DEPTH) refuse(`it nests deeper than ${JSON_MAX_DEPTH} levels`, text, at);
      values += 1;
      at += 1;
    } else if (character === '}' || character === ']') {
      open.pop();
      at += 1;
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      at = endOfNumber(text, at);
      values += 1;
    } else {
      // One letter of `true`, `false` and `null` each.
      values += character === 't' || character === 'f' || character === 'n' ? 1 : 0;
      at += 1;
    }
    if (values > maxValues) {
      throw new Refusal('body_too_large', `The body has more than ${maxValues} JSON values.`);
    }
  }
}

/** Position after the closing quote; the end of the text where there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

/** The string's value; undefined where its grammar is wrong, which JSON.parse will say better. */
function readString(text: string, start: number, end: number): string | undefined {
  const token = text.slice(start, end);
  if (!token.includes('\\')) return token.slice(1, -1);
  let value: string;
  try {
    value = JSON.parse(token) as string;
  } catch {
    return undefined;
  }
  if (!isWellFormed(value)) refuse('a string has an unpaired surrogate', text, start);
  return value;
}

/** `String.prototype.isWellFormed`, which this TypeScript library level lacks. */
function isWellFormed(value: string): boolean {
  return !/\p{Surrogate}/u.test(value);
}

/** Remembers a member's name; false where the string is a value. */
function noteName(
  names: Open | undefined,
  name: string | undefined,
  text: string,
  start: number,
  end: number,
): boolean {
  if (!names || name === undefined || !isFollowedByColon(text, end)) return false;
  if (name === '__proto__') refuse('"__proto__" must not name a member', text, start);
  const shown = JSON.stringify(name.slice(0, 64));
  if (names.has(name)) refuse(`the member ${shown} stands twice in one object`, text, start);
  names.add(name);
  return true;
}

function isFollowedByColon(text: string, start: number): boolean {
  let at = start;
  while (at < text.length && text.charCodeAt(at) <= SPACE) at += 1;
  return text[at] === ':';
}

function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start;
  const token = NUMBER.exec(text)?.[0] ?? (text[start] as string);
  if (Math.abs(Number(token)) === Infinity) refuse('a number is past the range of a double', text, start);
  return start + token.length;
}

function refuse(why: string, text: string, at: number): never {
  const line = text.slice(0, at).split('\n').length;
  const column = at - text.lastIndexOf('\n', at - 1);
  throw new Refusal(
    'invalid_json',
    `The body is not acceptable JSON: ${why} (line ${line}, column ${column}).`,
  );
}
