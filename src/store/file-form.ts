import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/*
 * The first two pages of LMDB's file each describe one of the last two commits. LMDB maps the file and believes them:
 * where they promise pages that are not there, the first look at one ends the process by a signal.
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
  readonly lastPage: bigint;
  readonly commit: bigint;
  readonly roots: readonly bigint[];
}

/** Why LMDB must not map the file: it is none of its own, or shorter than its pages. undefined where it may. */
export function problemOfFile(path: string): string | undefined {
  const descriptor = openSync(path, 'r');
  try {
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
    const { lastPage, roots } = one.commit > other.commit ? one : other;
    const needed = (lastPage + 1n) * BigInt(pageBytes);
    if (needed > BigInt(size)) return `it has ${size} bytes, and its pages ${needed}`;
    return roots.every((root) => root === NO_PAGE || root <= lastPage)
      ? undefined
      : 'its root is none of its pages';
  } finally {
    closeSync(descriptor);
  }
}

function metaOf(page: Buffer, pageBytes: number): Meta | undefined {
  const isMeta =
    page.readUInt32LE(AT.magic) === MAGIC &&
    page.readUInt32LE(AT.format) === FORMAT &&
    page.readUInt32LE(AT.pageBytes) === pageBytes;
  if (!isMeta) return undefined;
  return {
    lastPage: page.readBigUInt64LE(AT.lastPage),
    commit: page.readBigUInt64LE(AT.commit),
    roots: [page.readBigUInt64LE(AT.freeRoot), page.readBigUInt64LE(AT.mainRoot)],
  };
}
