import { LRUCache } from 'lru-cache';
import { Refusal } from '../../errors.js';
import {
  OPEN_ORGANIZATION,
  OPEN_TARGET_SPACES_MAX_CHARACTERS,
  OPEN_TARGET_SPACES_MAX_COUNT,
  TARGET_SPACES_MAX_BYTES,
  TARGET_SPACES_MAX_COUNT,
} from '../../limits.js';
import type { ControlStore, Table } from '../control-store.js';

/** Content that names a target space. The eligible targets are computed again from the filter when needed. */
export interface TargetSpaceRow {
  /** `htsp_…`, the hash of the other three members. */
  readonly id: string;
  readonly databaseReleaseId: string;
  /** Canonical predicate, as JSON. */
  readonly canonicalFilter: unknown;
  readonly filterSchemaId: string;
}

/** Look-up result for an organization. Equal content has one id, but only its creators and grantees see it. */
type FoundTargetSpace =
  | { readonly status: 'found'; readonly space: TargetSpaceRow }
  | { readonly status: 'forbidden' }
  | { readonly status: 'unknown' };

interface StoredRow extends TargetSpaceRow {
  /** Creators and grantees, ascending. */
  readonly organizationIds: readonly string[];
}

/** Target spaces of one organization, and bytes of their filters as JSON. */
interface TargetSpaceUsage {
  readonly count: number;
  readonly bytes: number;
}

const BOUNDS: TargetSpaceUsage = { count: TARGET_SPACES_MAX_COUNT, bytes: TARGET_SPACES_MAX_BYTES };

/**
 * The table `target-spaces`: one row per id. Only a row's organizations change, and no row is deleted. Those of console
 * visitors without a key are in memory only, so that visitors cannot fill the disk.
 *
 * The table `target-spaces-usage` has the total of each organization. Totals do not include the rows of versions before
 * this table, which had no bound.
 */
export class TargetSpaceTable {
  readonly #store: ControlStore;
  readonly #rows: Table<StoredRow>;
  readonly #usage: Table<TargetSpaceUsage>;
  readonly #bounds: TargetSpaceUsage;
  readonly #open = new LRUCache<string, TargetSpaceRow>({
    max: OPEN_TARGET_SPACES_MAX_COUNT,
    maxSize: OPEN_TARGET_SPACES_MAX_CHARACTERS,
    sizeCalculation: (space) => JSON.stringify(space).length,
  });

  /** @param bounds of each organization */
  constructor(store: ControlStore, bounds = BOUNDS) {
    this.#store = store;
    this.#rows = store.table<StoredRow>('target-spaces');
    this.#usage = store.table<TargetSpaceUsage>('target-spaces-usage');
    this.#bounds = bounds;
  }

  /**
   * Grants the organization the space, which is written if new. A repeated call writes nothing.
   * Errors  Refusal `storage_quota_exceeded` at the organization's bound; those of ControlStore.transaction
   */
  async put(space: TargetSpaceRow, organizationId: string): Promise<void> {
    // Nearly every filtered search ends here: a read, which waits for no writer, is enough.
    if (this.find(space.id, organizationId).status === 'found') return;
    if (organizationId === OPEN_ORGANIZATION) return void this.#open.set(space.id, space);
    const bytes = Buffer.byteLength(JSON.stringify(space.canonicalFilter));
    await this.#store.transaction(() => {
      const owners = this.#rows.get(space.id)?.organizationIds ?? [];
      // An equal request may have stored it meanwhile.
      if (owners.includes(organizationId)) return;
      this.#count(bytes, organizationId);
      this.#rows.putSync(space.id, { ...space, organizationIds: [...owners, organizationId].sort() });
    });
  }

  #count(moreBytes: number, organizationId: string): void {
    const { count, bytes } = this.#usage.get(organizationId) ?? { count: 0, bytes: 0 };
    const { count: maxCount, bytes: maxBytes } = this.#bounds;
    if (count >= maxCount || bytes + moreBytes > maxBytes) {
      throw new Refusal(
        'storage_quota_exceeded',
        `The organization stores ${count} of ${maxCount} target spaces, and ${bytes} of ${maxBytes} bytes of ` +
          `filters: no room for ${moreBytes} more. Stored ones can still be used, by id or by an equal filter.`,
        { used_bytes: bytes, quota_bytes: maxBytes, requested_bytes: moreBytes, target_space_count: count },
      );
    }
    this.#usage.putSync(organizationId, { count: count + 1, bytes: bytes + moreBytes });
  }

  find(id: string, organizationId: string): FoundTargetSpace {
    const open = organizationId === OPEN_ORGANIZATION ? this.#open.get(id) : undefined;
    if (open !== undefined) return { status: 'found', space: open };
    const row = this.#rows.get(id);
    if (row === undefined) return { status: 'unknown' };
    const { organizationIds, ...space } = row;
    return organizationIds.includes(organizationId) ? { status: 'found', space } : { status: 'forbidden' };
  }
}
