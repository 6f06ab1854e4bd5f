import { LRUCache } from 'lru-cache';
import {
  OPEN_ORGANIZATION,
  OPEN_TARGET_SPACES_MAX_CHARACTERS,
  OPEN_TARGET_SPACES_MAX_COUNT,
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

/**
 * The table `target-spaces`: one row per id. Only a row's organizations change, and no row is deleted. Those of console
 * visitors without a key are in memory only, so that visitors cannot fill the disk.
 */
export class TargetSpaceTable {
  readonly #store: ControlStore;
  readonly #rows: Table<StoredRow>;
  readonly #open = new LRUCache<string, TargetSpaceRow>({
    max: OPEN_TARGET_SPACES_MAX_COUNT,
    maxSize: OPEN_TARGET_SPACES_MAX_CHARACTERS,
    sizeCalculation: (space) => JSON.stringify(space).length,
  });

  constructor(store: ControlStore) {
    this.#store = store;
    this.#rows = store.table<StoredRow>('target-spaces');
  }

  /** Grants the organization the space, which is written if new. A repeated call writes nothing. */
  async put(space: TargetSpaceRow, organizationId: string): Promise<void> {
    // Nearly every filtered search ends here: a read, which waits for no writer, is enough.
    if (this.find(space.id, organizationId).status === 'found') return;
    if (organizationId === OPEN_ORGANIZATION) return void this.#open.set(space.id, space);
    await this.#store.transaction(() => {
      const owners = this.#rows.get(space.id)?.organizationIds ?? [];
      const organizationIds = [...new Set([...owners, organizationId])].sort();
      this.#rows.putSync(space.id, { ...space, organizationIds });
    });
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
