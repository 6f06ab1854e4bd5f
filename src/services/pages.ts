import { createHmac, timingSafeEqual } from 'node:crypto';
import { canonicalJson } from '../canonical.js';
import { Refusal } from '../errors.js';

export interface Page<Item> {
  readonly object: 'list';
  readonly data: Item[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string;
}

const SEAL_BYTES = 16;

/** Cuts lists into pages by sealed cursors. */
export class Pages {
  readonly #sealingKey: Buffer;

  constructor(sealingKey: Buffer) {
    this.#sealingKey = sealingKey;
  }

  /**
   * Returns the page after the cursor of items in ascending order of their keys, or descending with `descending`. A
   * cursor holds the last returned key, so added or removed items shift nothing. `list` identifies the list:
   * organization, operation, filters.
   * Errors  Refusal `cursor_invalid` for a cursor that this server did not issue for this list
   */
  cut<Item>(
    items: readonly Item[],
    keyOf: (item: Item) => string,
    { limit, cursor }: PageRequest,
    list: readonly string[],
    direction: 'ascending' | 'descending' = 'ascending',
  ): Page<Item> {
    const last = cursor === undefined ? undefined : this.open(cursor, list);
    const isAfter = (key: string): boolean =>
      last === undefined || (direction === 'ascending' ? key > last : key < last);
    const rest = items
      .filter((item) => isAfter(keyOf(item)))
      .sort((a, b) => (keyOf(a) < keyOf(b) === (direction === 'ascending') ? -1 : 1));
    const data = rest.slice(0, limit);
    const hasMore = rest.length > limit;
    const end = data.at(-1);
    return {
      object: 'list',
      data,
      has_more: hasMore,
      next_cursor: hasMore && end !== undefined ? this.seal(keyOf(end), list) : null,
    };
  }

  /** Seals a position in a list that is too long for memory. The caller seeks to that position itself. */
  seal(position: string, list: readonly string[]): string {
    return Buffer.concat([this.#sealOf(position, list), Buffer.from(position)]).toString('base64url');
  }

  /** Returns the position that was passed to `seal`. Errors  Refusal `cursor_invalid` */
  open(cursor: string, list: readonly string[]): string {
    const bytes = Buffer.from(cursor, 'base64url');
    const position = bytes.subarray(SEAL_BYTES).toString('utf8');
    const isWhole = bytes.length > SEAL_BYTES && bytes.toString('base64url') === cursor;
    if (isWhole && timingSafeEqual(bytes.subarray(0, SEAL_BYTES), this.#sealOf(position, list))) {
      return position;
    }
    throw new Refusal(
      'cursor_invalid',
      'This server has not issued the cursor for this list. Start without one.',
      { param: 'cursor' },
    );
  }

  #sealOf(key: string, list: readonly string[]): Buffer {
    const content = canonicalJson({ key, list });
    return createHmac('sha256', this.#sealingKey).update(content).digest().subarray(0, SEAL_BYTES);
  }
}
