import { JsonText } from './text.js';
import { Refusal } from '../errors.js';
import { JSON_MAX_DEPTH, JSON_MAX_VALUES } from '../limits.js';
import { Slice } from '../turns.js';

/** Bytes parsed between two pauses; they take less than a millisecond. */
const PIECE_BYTES = 64 * 1024;

/**
 * Parses a JSON text and refuses every text that parsers read differently.
 * Errors  Refusal `invalid_json` for bytes that are not UTF-8, a byte order mark, a grammar error, a duplicate
 *         member, `__proto__`, an unpaired surrogate, a number past the range of a double, or nesting deeper than
 *         JSON_MAX_DEPTH; Refusal `body_too_large` past `maxValues`
 * Cost    one pass over the bytes; depth and count are checked while parsing
 */
export function parseStrictJson(bytes: Uint8Array, maxValues = JSON_MAX_VALUES): unknown {
  const reading = read(bytes, maxValues);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
  }
}

/**
 * Parses as parseStrictJson and yields to the event loop between pieces, for texts that may be large.
 * Errors  those of parseStrictJson
 */
export async function parseStrictJsonInTurns(
  bytes: Uint8Array,
  maxValues = JSON_MAX_VALUES,
): Promise<unknown> {
  const slice = new Slice();
  const reading = read(bytes, maxValues);
  for (;;) {
    const { done, value } = reading.next();
    if (done === true) return value;
    if (slice.isOver) await slice.pause();
  }
}

/** An unclosed array, or an unclosed object with the name of its current member. */
type Open =
  | { readonly content: unknown[]; readonly close: ']' }
  | { readonly content: Record<string, unknown>; readonly close: '}'; name: string };

/** Parses with an explicit stack and yields after each piece. After each value it closes the levels that end there. */
function* read(bytes: Uint8Array, maxValues: number): Generator<void, unknown> {
  const text = new JsonText(bytes);
  const open: Open[] = [];
  let valueCount = 0;
  let pieceEnd = PIECE_BYTES;
  for (;;) {
    valueCount += 1;
    if (valueCount > maxValues) {
      throw new Refusal('body_too_large', `The body has more than ${maxValues} JSON values.`);
    }
    const begun = begin(text, open.length);
    if (begun !== undefined && !text.takes(begun.close)) {
      if ('name' in begun) begun.name = yield* memberName(text, begun.content);
      open.push(begun);
      continue;
    }
    let value = begun === undefined ? yield* scalar(text) : begun.content;
    for (;;) {
      const level = open.at(-1);
      if (level === undefined) {
        text.requireEnd();
        return value;
      }
      if ('name' in level) level.content[level.name] = value;
      else level.content.push(value);
      if (text.takes(',')) {
        if ('name' in level) level.name = yield* memberName(text, level.content);
        break;
      }
      text.require(level.close, `"," or "${level.close}"`);
      value = level.content;
      open.pop();
    }
    if (text.at < pieceEnd) continue;
    pieceEnd = text.at + PIECE_BYTES;
    yield;
  }
}

function begin(text: JsonText, depth: number): Open | undefined {
  const isList = text.takes('[');
  if (!isList && !text.takes('{')) return undefined;
  if (depth === JSON_MAX_DEPTH) text.refuse(`it nests deeper than ${JSON_MAX_DEPTH} levels`, text.at - 1);
  return isList ? { content: [], close: ']' } : { content: {}, close: '}', name: '' };
}

function* memberName(text: JsonText, object: object): Generator<void, string> {
  const start = text.nextAt();
  const name = text.startsString() ? yield* text.string() : text.expected('the name of a member');
  text.require(':', '":"');
  if (name === '__proto__') text.refuse('"__proto__" must not name a member', start);
  if (Object.hasOwn(object, name)) {
    const shown = JSON.stringify(name.slice(0, 64));
    text.refuse(`the member ${shown} stands twice in one object`, start);
  }
  return name;
}

function* scalar(text: JsonText): Generator<void, unknown> {
  return text.startsString() ? yield* text.string() : text.word();
}
