/*
 * Checks the list of free pages in LMDB's file. Readers never use it, but every commit takes pages from it. A damaged
 * list kills the writer by a signal, blocks it for ever, or makes it overwrite pages in use. The list is an ordinary
 * tree whose values are lists of 64-bit numbers. The first number is a count; page numbers follow, 0 for none. A
 * negative number before a page is the length of a run of pages.
 */

/**
 * Size of a page header: page number, commit, padding, flags, then the bounds of its free space or its overflow count.
 */
const HEAD_BYTES = 24;
const AT = { page: 0, flags: 18, lower: 20 };
const BRANCH = 1;
const LEAF = 2;
/** Mask of a page's kind. Overflow pages have the third bit and belong to no tree. */
const KIND = BRANCH | LEAF | 4;
/** Size of a node header: two halves of a number, flags and the length of the key. */
const NODE_HEAD_BYTES = 8;
const IS_ELSEWHERE = 1;
const KEY_BYTES = 8;
const NUMBER_BYTES = 8;
const TREE_MAX_DEPTH = 32;
const FIRST_PAGE = 2;

export interface Pages {
  readonly pageBytes: number;
  readonly lastPage: number;
  /** Reads `count` pages from this page on. */
  readonly read: (page: number, count: number) => Buffer;
}

/** Returns what is wrong with the free list, or undefined. @param root first page of its tree, within the file */
export function problemOfFreeList(root: number, pages: Pages): string | undefined {
  try {
    new FreeList(pages).readTree(root, 0);
    return undefined;
  } catch (error) {
    if (error instanceof Damage) return `its list of free pages is damaged (${error.message})`;
    throw error;
  }
}

class Damage extends Error {}

class FreeList {
  readonly #pages: Pages;
  /** Marks pages of the list itself and pages that it lists as free. No page may occur twice. */
  readonly #seen: Uint8Array;

  constructor(pages: Pages) {
    this.#pages = pages;
    this.#seen = new Uint8Array(pages.lastPage + 1);
  }

  readTree(number: number, depth: number): void {
    if (depth > TREE_MAX_DEPTH) throw new Damage('its tree has no end');
    const page = this.#readPages(number, 1);
    const kind = page.readUInt16LE(AT.flags) & KIND;
    if (kind !== BRANCH && kind !== LEAF) throw new Damage(`page ${number} is none of a tree`);
    const count = page.readUInt16LE(AT.lower) >> 1;
    const most = (page.length - HEAD_BYTES) / 2;
    if (count === 0 || count > most) throw new Damage(`page ${number} has ${count} entries`);
    for (let index = 0; index < count; index += 1) {
      const node = HEAD_BYTES + page.readUInt16LE(HEAD_BYTES + 2 * index);
      if (node + NODE_HEAD_BYTES > page.length)
        throw new Damage(`page ${number} has an entry beyond its end`);
      const low = page.readUInt32LE(node);
      const flags = page.readUInt16LE(node + 4);
      if (kind === BRANCH) this.readTree(low + flags * 2 ** 32, depth + 1);
      else this.#readLeaf(page, node, low, flags);
    }
  }

  #readLeaf(page: Buffer, node: number, bytes: number, flags: number): void {
    const start = node + NODE_HEAD_BYTES + KEY_BYTES;
    if (page.readUInt16LE(node + 6) !== KEY_BYTES) throw new Damage('an entry has no commit for a key');
    if ((flags & IS_ELSEWHERE) === 0) return this.#readNumbers(slice(page, start, bytes));
    const first = Number(slice(page, start, NUMBER_BYTES).readBigUInt64LE());
    const count = Math.ceil((HEAD_BYTES + bytes) / this.#pages.pageBytes);
    this.#readNumbers(slice(this.#readPages(first, count), HEAD_BYTES, bytes));
  }

  #readNumbers(list: Buffer): void {
    const count = Number(slice(list, 0, NUMBER_BYTES).readBigInt64LE());
    if (count < 0 || count >= list.length / NUMBER_BYTES)
      throw new Damage(`a list says it has ${count} numbers`);
    for (let index = 1; index <= count; index += 1) {
      const number = Number(list.readBigInt64LE(index * NUMBER_BYTES));
      if (number === 0) continue;
      if (number > 0) this.#note(number, 1);
      else {
        index += 1;
        if (index > count) throw new Damage('a list ends before a stretch');
        this.#note(Number(list.readBigInt64LE(index * NUMBER_BYTES)), -number);
      }
    }
  }

  #readPages(first: number, count: number): Buffer {
    this.#note(first, count);
    const page = this.#pages.read(first, count);
    const isOwn = Number(page.readBigUInt64LE(AT.page)) === first;
    if (!isOwn || page.length < count * this.#pages.pageBytes) throw new Damage(`page ${first} is another`);
    return page;
  }

  #note(first: number, count: number): void {
    const { lastPage } = this.#pages;
    if (first < FIRST_PAGE || count < 1 || first + count - 1 > lastPage) {
      throw new Damage(`it names pages ${first} to ${first + count - 1} of ${lastPage}`);
    }
    for (let page = first; page < first + count; page += 1) {
      if (this.#seen[page] === 1) throw new Damage(`it names page ${page} twice`);
      this.#seen[page] = 1;
    }
  }
}

function slice(bytes: Buffer, start: number, length: number): Buffer {
  if (start + length > bytes.length) throw new Damage('an entry extends beyond its page');
  return bytes.subarray(start, start + length);
}
