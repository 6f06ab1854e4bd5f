/** Bounds on the rows that one organization may leave in a table. */
export interface PassingBounds {
  readonly organizationId: string;
  readonly maxCount: number;
  readonly maxBytes?: number;
}

/**
 * Rows of an organization whose users need no key, in order of age. A table that deletes its oldest row when it is full
 * would otherwise delete the rows of others for them. The list is in memory: rows of an earlier process stay until they
 * are the oldest of their table.
 */
export class PassingRows {
  readonly #bounds: PassingBounds;
  readonly #rows = new Map<string, number>();
  #bytes = 0;

  constructor(bounds: PassingBounds) {
    this.#bounds = bounds;
  }

  /** Notes a row that an organization has stored. Returns the keys of the rows to be deleted. */
  note(key: string, organizationId: string, bytes = 0): readonly string[] {
    const { maxCount, maxBytes = Infinity } = this.#bounds;
    if (organizationId !== this.#bounds.organizationId) return [];
    this.#rows.set(key, bytes);
    this.#bytes += bytes;
    const surplus: string[] = [];
    for (const [each, size] of this.#rows) {
      if (this.#rows.size <= maxCount && this.#bytes <= maxBytes) break;
      this.#rows.delete(each);
      this.#bytes -= size;
      surplus.push(each);
    }
    return surplus;
  }

  /** Whether only this organization has the row, so that it may be deleted. */
  isAlone(organizationIds: readonly string[]): boolean {
    return organizationIds.length === 1 && organizationIds[0] === this.#bounds.organizationId;
  }
}
