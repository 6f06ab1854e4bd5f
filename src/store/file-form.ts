import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { problemOfFreeList } from './free-list.js';

/*
 * The first two pages of LMDB's file each describe one of the last two commits. LMDB maps the file and believes them:
 * where they promise pages that are not there, the first look at one ends the process by a signal. The list of free
 * pages is all that readers never see of the rest.
 */

const MAGIC = 0xbeefc0de;
const FORMAT = 2;
/** Places in a meta page, in bytes. */
const AT = { magic: 24, format: 28, pageBytes: 48, freeRoot: 88, mainRoot: 136, lastPage: 144, commit: 152 };
const META_BYTES = 160;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
const PAGE_MIN_BYTES = 512;
const PAGE_MAX_BYTES = 65_536;

interface Meta {
  readonly pageBytes: number;
  readonly lastPage: bigint;
  readonly commit: bigint;
  /** Of the free pages and of the tables. */
  readonly roots: readonly [bigint, bigint];
}

/** Looks at what a server changes meanwhile. */
const ATTEMPTS = 5;

/**
 * Why LMDB must not map the file: it is none of its own, shorter than its pages, or would write over its own.
 * undefined where it may.
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
      // A commit may have taken the pages that were looked at.
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

/** What describes the last commit, or what is wrong with it. */
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
