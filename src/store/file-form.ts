import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { problemOfFreeList } from './free-list.js';

/*
 * The first two pages of LMDB's file each describe one of the last two commits. LMDB maps the file without a check. If
 * the pages refer to pages beyond the end of the file, the first access ends the process by a signal. Readers see all
 * of the remaining file except the list of free pages.
 */

const MAGIC = 0xbeefc0de;
const FORMAT = 2;
/** Offsets in a meta page. Unit  bytes */
const AT = { magic: 24, format: 28, pageBytes: 48, freeRoot: 88, mainRoot: 136, lastPage: 144, commit: 152 };
const META_BYTES = 160;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const PAGE_MIN_BYTES = 512;
const PAGE_MAX_BYTES = 65_536;

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: bigint;
  readonly commit: bigint;
  /** Root pages of the tree of free pages and of the tree of tables. */
  readonly roots: readonly [bigint, bigint];
}

/** Reads of a file that a server may change meanwhile. */
const ATTEMPTS = 5;

/**
 * Says why LMDB must not map the file: it is no LMDB file, it is shorter than its pages, or a commit would overwrite
 * pages in use. undefined if LMDB may map it.
 * Cost    a read of its list of free pages
 */
export function problemOfFile(path: string): string | undefined {
  const descriptor = openSync(path, 'r');
  try {
    let problem: string | undefined;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = newestOf(descriptor);
      if (typeof before === 'string') return before;
      problem = problemOfFreePages(descriptor, before);
      // A commit may have reused the pages that were just read.
      const after = newestOf(descriptor);
      if (problem === undefined || (typeof after !== 'string' && after.commit === before.commit))
        return problem;
    }
    return undefined;
  } finally {
    closeSync(descriptor);
  }
}

function problemOfFreePages(
  descriptor: number,
  { roots: [root], lastPage, pageBytes }: Meta,
): string | undefined {
  if (root === NO_PAGE) return undefined;
  const read = (page: number, count: number): Buffer => {
    const bytes = Buffer.alloc(count * pageBytes);
    return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, page * pageBytes));
  };
  return problemOfFreeList(Number(root), { pageBytes, lastPage: Number(lastPage), read });
}

/** Meta page of the last commit, or a message that says what is wrong with it. */
function newestOf(descriptor: number): Meta | string {
  const { size } = fstatSync(descriptor);
  const first = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, first, 0, META_BYTES, 0) < META_BYTES) return `it has ${size} bytes`;
  const pageBytes = first.readUInt32LE(AT.pageBytes);
  const isPageSize =
    pageBytes >= PAGE_MIN_BYTES && pageBytes <= PAGE_MAX_BYTES && (pageBytes & (pageBytes - 1)) === 0;
  if (!isPageSize) return `it has pages of ${pageBytes} bytes`;
  const second = Buffer.alloc(META_BYTES);
  if (readSync(descriptor, second, 0, META_BYTES, pageBytes) < META_BYTES) return `it has ${size} bytes`;
  const [one, other] = [first, second].map((page) => metaOf(page, pageBytes));
  if (one === undefined || other === undefined) return 'its first pages are not those of a control state';
  const newest = one.commit > other.commit ? one : other;
  const { lastPage, roots } = newest;
  const needed = (lastPage + 1n) * BigInt(pageBytes);
  if (needed > BigInt(size)) return `it has ${size} bytes, and its pages ${needed}`;
  const isInside = roots.every((root) => root === NO_PAGE || root <= lastPage);
  return isInside ? newest : 'its root is none of its pages';
}

function metaOf(page: Buffer, pageBytes: number): Meta | undefined {
  const isMeta =
    page.readUInt32LE(AT.magic) === MAGIC &&
    page.readUInt32LE(AT.format) === FORMAT &&
    page.readUInt32LE(AT.pageBytes) === pageBytes;
  if (!isMeta) return undefined;
  return {
    pageBytes,
    lastPage: page.readBigUInt64LE(AT.lastPage),
    commit: page.readBigUInt64LE(AT.commit),
    roots: [page.readBigUInt64LE(AT.freeRoot), page.readBigUInt64LE(AT.mainRoot)],
  };
}
