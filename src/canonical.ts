import { createHash, hash as hashOnce } from 'node:crypto';
import canonicalize from 'canonicalize';
import { pause } from './turns.js';

/**
 * Canonical JSON: equal values give equal text, whatever the order of members or the spelling of numbers.
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

/** Lower-case hex SHA-256 of the canonical JSON: the name of a value. */
export function canonicalSha256(value: unknown): string {
  return sha256Hex(canonicalJson(value));
}

/** Elements of a list that are written without a pause: about a millisecond for queries or candidates. */
const ELEMENTS_PER_PAUSE = 250;
/** Lists up to this length are looked into, because one element may be as large as a long list. */
const SHORT_LIST = 16;

/** The same of a value that may be large, written piece by piece, so that others get their turn. */
export async function canonicalSha256InTurns(value: unknown): Promise<string> {
  return (await canonicalDigestInTurns(value)).sha256;
}

/** The same with the length of the canonical JSON. */
export async function canonicalDigestInTurns(
  value: unknown,
): Promise<{ readonly sha256: string; readonly bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  await writeInTurns(value, (text) => {
    hash.update(text);
    bytes += Buffer.byteLength(text);
  });
  return { sha256: hash.digest('hex'), bytes };
}

type Write = (text: string) => void;

async function writeInTurns(value: unknown, write: Write): Promise<void> {
  if (Array.isArray(value)) {
    await writeListInTurns(value, write);
  } else if (typeof value === 'object' && value !== null) {
    write('{');
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    // RFC 8785 sorts by UTF-16 code units, and so does JavaScript where it compares strings.
    members.sort(([left], [right]) => (left < right ? -1 : 1));
    for (const [order, [name, member]] of members.entries()) {
      write(`${order === 0 ? '' : ','}${canonicalJson(name)}:`);
      await writeInTurns(member, write);
    }
    write('}');
  } else {
    write(canonicalJson(value));
  }
}

async function writeListInTurns(list: readonly unknown[], write: Write): Promise<void> {
  write('[');
  const step = list.length <= SHORT_LIST ? 1 : ELEMENTS_PER_PAUSE;
  for (let start = 0; start < list.length; start += step) {
    if (start > 0) write(',');
    if (step === 1) await writeInTurns(list[start], write);
    else {
      write(canonicalJson(list.slice(start, start + step)).slice(1, -1));
      if (start + step < list.length) await pause();
    }
  }
  write(']');
}
