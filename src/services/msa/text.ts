import { Refusal } from '../../errors.js';
import type { MsaRow } from './rows.js';

/** Name of the first row if the query has no name. A receipt has none. */
const QUERY_HEADER = 'query';

/** The A3M text as pieces, one per row. */
export function a3mPieces(query: string, rows: readonly MsaRow[], queryHeader = QUERY_HEADER): string[] {
  return [{ header: queryHeader, row: query }, ...rows].map(({ header, row }) => `>${header}\n${row}\n`);
}

export async function* encodePieces(pieces: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) yield Buffer.from(piece);
}

/** Length of the concatenated pieces as one JSON string. */
export function jsonBytesOf(pieces: readonly string[]): number {
  return pieces.reduce((sum, piece) => sum + Buffer.byteLength(JSON.stringify(piece)) - 2, 2);
}

/** Streams UTF-8 text as one JSON string, without buffering it. */
export async function* asJsonString(text: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  // A character split by two chunks is decoded with the second. The decoder never splits a surrogate pair.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  yield Buffer.from('"');
  for await (const chunk of text) {
    yield Buffer.from(JSON.stringify(decoder.decode(chunk, { stream: true })).slice(1, -1));
  }
  yield Buffer.from('"');
}

/**
 * Whether the client prefers JSON to plain text, which is the default.
 * Errors  Refusal `not_acceptable` if it accepts neither
 * Source  RFC 9110, section 12.5.1
 */
export function prefersJson(accept = '*/*'): boolean {
  const ranges = new Map(accept.split(',').map((range) => qualityOf(range)));
  const welcome = (type: string): number =>
    [type, type.replace(/\/.*/, '/*'), '*/*']
      .map((range) => ranges.get(range))
      .find((q) => q !== undefined) ?? 0;
  const text = welcome('text/plain');
  const json = welcome('application/json');
  if (text > 0 || json > 0) return json > text;
  throw new Refusal(
    'not_acceptable',
    'This route answers with text/plain or application/json, which Accept excludes.',
  );
}

function qualityOf(range: string): [string, number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.map((parameter) => /^q=(\d(?:\.\d{0,3})?)$/.exec(parameter)?.[1]);
  return [type, Number(quality.find((value) => value !== undefined) ?? 1)];
}
