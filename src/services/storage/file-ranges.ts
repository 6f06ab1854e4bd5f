import { Refusal } from '../../errors.js';
import type { FileRow } from '../../store/storage/files.js';

/** Request headers by name, as the contract declares them. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** Requested content of a file: all of it, bytes [start, end), or nothing because the client's copy is current. */
type RequestedRange =
  { readonly status: 200 | 206; readonly start: number; readonly end: number } | { readonly status: 304 };

/**
 * @param now  of the request; a condition with a later date is ignored
 * Errors  Refusal `precondition_failed`, `range_not_satisfiable`
 * Source  RFC 9110, sections 13.2.2 (order of preconditions) and 14.2 (ranges)
 */
export function requestedRange(file: FileRow, headers: Headers, now?: Date): RequestedRange {
  const modifiedMs = Math.floor(Date.parse(file.updatedAt) / 1000) * 1000;
  const isNewerThan = (text: string | undefined): boolean | undefined => {
    const time = dateOf(text);
    // A date to come is of a clock that was set back since. The file may have been replaced after that.
    if (time === undefined || time > (now?.getTime() ?? Infinity)) return undefined;
    return modifiedMs > time;
  };
  const ifMatch = headers['If-Match'];
  const isOther =
    ifMatch === undefined
      ? (isNewerThan(headers['If-Unmodified-Since']) ?? false)
      : !matches(ifMatch, file, 'strong');
  if (isOther)
    throw new Refusal('precondition_failed', 'The file does not match the precondition of the request.');
  const ifNoneMatch = headers['If-None-Match'];
  const isKnown =
    ifNoneMatch === undefined
      ? isNewerThan(headers['If-Modified-Since']) === false
      : matches(ifNoneMatch, file, 'weak');
  if (isKnown) return { status: 304 };
  const range = headers.Range;
  if (range === undefined || !isRangeCurrent(headers['If-Range'], file, modifiedMs)) return whole(file);
  return rangeOf(range, file);
}

/** Strong: equal tags are equal bytes. */
export function etagOf({ sha256 }: Pick<FileRow, 'sha256'>): string {
  return `"${sha256}"`;
}

function whole({ sizeBytes }: FileRow): RequestedRange {
  return { status: 200, start: 0, end: sizeBytes };
}

/** A single range is served. Anything else gets the whole file, as the RFC allows. */
function rangeOf(text: string, file: FileRow): RequestedRange {
  const { sizeBytes } = file;
  const [, first, last] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(text) ?? [];
  if (first === undefined || (first === '' && last === '')) return whole(file);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return whole(file);
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first);
  const end = first === '' || last === '' ? sizeBytes : Math.min(sizeBytes, Number(last) + 1);
  if (start < end) return { status: 206, start, end };
  throw new Refusal(
    'range_not_satisfiable',
    `The file has ${sizeBytes} bytes, and the range contains none of them.`,
    {
      param: 'Range',
      size_bytes: sizeBytes,
    },
  );
}

function matches(list: string, file: FileRow, comparison: 'strong' | 'weak'): boolean {
  if (list.trim() === '*') return true;
  const tags = list.split(',').map((tag) => tag.trim());
  return tags.some((tag) => (comparison === 'weak' ? tag.replace(/^W\//, '') : tag) === etagOf(file));
}

/** A date in If-Range must equal the Last-Modified date. */
function isRangeCurrent(ifRange: string | undefined, file: FileRow, modifiedMs: number): boolean {
  if (ifRange === undefined) return true;
  return /^(W\/)?"/.test(ifRange) ? ifRange === etagOf(file) : dateOf(ifRange) === modifiedMs;
}

/** An HTTP date. Any other text counts as absent. */
function dateOf(text: string | undefined): number | undefined {
  const time = text === undefined || !/GMT$/.test(text) ? Number.NaN : Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}
