import { createHash, hash as hashOnce } from 'node:crypto';
import canonicalize from 'canonicalize';
import { Slice } from './turns.js';

/**
 * Canonical JSON: equal values give equal text, independent of the order of members and the spelling of numbers.
 * Errors  an assertion for values that JSON cannot hold (undefined, NaN, cycles)
 * Source  RFC 8785
 */
export function canonicalJson(value: unknown): string {
  // The package is CommonJS whose types say "default export"; under NodeNext the callable is the import itself.
  const write: unknown = canonicalize;
  const text = (write as (value: unknown) => string | undefined)(value);
  if (text === undefined) throw new TypeError('The value has no JSON representation.');
  return text;
}

/** Lower-case hex SHA-256 of bytes or of UTF-8 text. */
export function sha256Hex(bytes: string | Uint8Array): string {
  return hashOnce('sha256', bytes, 'hex');
}

/** Lower-case hex SHA-256 of the canonical JSON. It names a value. */
export function canonicalSha256(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/** Characters that are written without a pause: less than a millisecond. */
const PIECE_CHARACTERS = 64 * 1024;

/** canonicalSha256 in slices, for a value that may be large. Errors  those of canonicalJson */
export async function canonicalSha256InTurns(value: unknown): Promise<string> {
  return (await canonicalDigestInTurns(value)).sha256;
}

/** Digest and length of the canonical JSON, in slices. */
export async function canonicalDigestInTurns(
  value: unknown,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256');
  const slice = new Slice();
  let bytes = 0;
  for (const text of canonicalPieces(value)) {
    hash.update(text);
    bytes += Buffer.byteLength(text);
    if (slice.isOver) await slice.pause();
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** An array or an object that is being written, with its sorted names and the number of written elements. */
interface Level {
  readonly content: Readonly<Record<string | number, unknown>>;
  readonly names?: readonly string[];
  readonly count: number;
  readonly close: ']' | '}';
  written: number;
}

/** The text of canonicalJson in pieces. No piece is much longer than PIECE_CHARACTERS. */
function* canonicalPieces(root: unknown): Generator<string> {
  const levels: Level[] = [];
  let value = root;
  let text = '';
  for (;;) {
    const begun = levelOf(value);
    if (begun !== undefined) {
      levels.push(begun);
      text += begun.names === undefined ? '[' : '{';
    } else if (typeof value === 'string' && value.length > PIECE_CHARACTERS) {
      yield text;
      text = '';
      yield* stringPieces(value);
    } else text += canonicalJson(value);
    if (text.length >= PIECE_CHARACTERS) {
      yield text;
      text = '';
    }
    let level = levels.at(-1);
    while (level !== undefined && level.written === level.count) {
      text += level.close;
      levels.pop();
      level = levels.at(-1);
    }
    if (level === undefined) break;
    if (level.written > 0) text += ',';
    const name = level.names?.[level.written];
    if (name !== undefined) text += `${canonicalJson(name)}:`;
    value = level.content[name ?? level.written];
    level.written += 1;
  }
  yield text;
}

function levelOf(value: unknown): Level | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const content = value as Level['content'];
  if (Array.isArray(value)) return { content, count: value.length, close: ']', written: 0 };
  // RFC 8785 sorts by UTF-16 code units, and so does JavaScript.
  const names = Object.keys(content)
    .filter((name) => content[name] !== undefined)
    .sort();
  return { content, names, count: names.length, close: '}', written: 0 };
}

function* stringPieces(value: string): Generator<string> {
  yield '"';
  for (let start = 0; start < value.length;) {
    let end = start + PIECE_CHARACTERS;
    // Does not split a surrogate pair.
    const last = value.charCodeAt(end - 1);
    if (last >= 0xd800 && last <= 0xdbff) end += 1;
    yield JSON.stringify(value.slice(start, end)).slice(1, -1);
    start = end;
  }
  yield '"';
}
