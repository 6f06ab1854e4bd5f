import { Refusal } from '../../errors.js';
import { FILE_PATH_MAX_BYTES, FILE_PATH_MAX_DEPTH, FILE_PATH_SEGMENT_MAX_BYTES } from '../../limits.js';

/** Characters that look like a separator. NFKC also finds those that are compatible with one. */
const LOOK_ALIKES =
  /[\u2044\u2215\u2216\u2571\u2572\u27cb\u27cd\u29f5\u29f8\u29f9\u2f03\u1735\u{1f67c}\u{1f67d}]/u;
/** Overlay marks, which make the preceding letter look like a separator. */
const OVERLAYS = /[\u0337\u0338\u20e5\u20eb]/u;
/** Invisible characters, and those that change the text direction. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u;
const ESCAPED = /%(?:00|2e|2f|5c)/i;

/**
 * Normalises a relative path of a stored file to Unicode normal form C. It names rows, never a file on disk. A path
 * that a person, a shell or another system could read as leaving the organization's folder is refused anyway.
 * Errors  Refusal `invalid_path` with the reason
 */
export function normalisePath(text: string, param: string): string {
  const path = text.normalize('NFC');
  const fault = faultOf(path);
  if (fault === undefined) return path;
  throw new Refusal('invalid_path', `The path ${quote(text)} ${fault}`, { param });
}

/** The path of a file or folder to be deleted. A final slash marks a folder. */
export function normaliseTarget(
  text: string,
  param: string,
): { readonly path: string; readonly isFolder: boolean } {
  const isFolder = text.length > 1 && text.endsWith('/');
  return { path: normalisePath(isFolder ? text.slice(0, -1) : text, param), isFolder };
}

function faultOf(path: string): string | undefined {
  // The length comes first, so that later checks never process longer text.
  if (Buffer.byteLength(path) > FILE_PATH_MAX_BYTES) return `is longer than ${FILE_PATH_MAX_BYTES} bytes.`;
  if (path === '') return 'is empty.';
  if (INVISIBLE.test(path)) return 'has control, invisible or direction-changing characters.';
  if (path.includes('\\')) return 'has a backslash; "/" separates folders.';
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'is absolute; paths are relative.';
  if (ESCAPED.test(path)) return 'has percent-escaped separators or dots; write the characters themselves.';
  const segments = path.split('/');
  if (segments.length > FILE_PATH_MAX_DEPTH) return `has more than ${FILE_PATH_MAX_DEPTH} levels.`;
  return segments.map(segmentFault).find((fault) => fault !== undefined);
}

function segmentFault(segment: string): string | undefined {
  if (segment === '') return 'has an empty part between two slashes or at its end.';
  if (Buffer.byteLength(segment) > FILE_PATH_SEGMENT_MAX_BYTES) {
    return `has a part longer than ${FILE_PATH_SEGMENT_MAX_BYTES} bytes.`;
  }
  const plain = segment.normalize('NFKC');
  if (/[/\\]/.test(plain) || LOOK_ALIKES.test(plain) || OVERLAYS.test(segment)) {
    return 'has a character that looks like a separator.';
  }
  if (/^\.+$/.test(plain.trim())) return 'has a part of dots only.';
  if (segment.trim() !== segment || segment.endsWith('.'))
    return 'has a part that begins or ends with blanks, or ends with a dot.';
  return undefined;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}…` : text);
}
