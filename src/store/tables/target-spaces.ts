import type { ControlStore, Table } from '../control-store.js';

/** What names a target space; the eligible targets are looked up again from the filter when they are needed. */
export interface TargetSpaceRow {
  /** `htsp_…`, the hash of the other three. */
  readonly id: string;
  readonly databaseReleaseId: string;
  /** Canonical predicate, as JSON. */
  readonly canonicalFilter: unknown;
  readonly filterSchemaId: string;
}

/** What an organization finds under an id: equal content has one id, but only who made it or was granted it sees it. */
type FoundTargetSpace =
  | { readonly status: 'found'; readonly space: TargetSpaceRow }
  | { readonly status: 'forbidden' }
  | { readonly status: 'unknown' };

interface StoredRow extends TargetSpaceRow {
  /** Who made it or was granted it, ascending. */
  readonly organizationIds: readonly string[];
}

/** The table `target-spaces`: one row per id; rows are never changed but for who sees them, and never go. */
export class TargetSpaceTable {
  readonly #store: ControlStore;
  readonly #rows: Table<StoredRow>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#rows = store.table<StoredRow>('target-spaces');
  }

  /** Lets the organization see the space, which is written if it is new. Repeating it writes nothing. */
  async put(space: TargetSpaceRow, organizationId: string): Promise<void> {
    // Nearly every filtered search comes here again: a read, which waits for no writer, settles it.
    if (this.find(space.id, organizationId).status === 'found') return;
    await this.#store.transaction(() => {
      const known = this.#rows.get(space.id)?.organizationIds ?? [];
      const organizationIds = [...new Set([...known, organizationId])].sort();
      this.#rows.putSync(space.id, { ...space, organizationIds });
    });
  }

  find(id: string, organizationId: string): FoundTargetSpace {
    const row = this.#rows.get(id);
    if (row === undefined) return { status: 'unknown' };
    const { organizationIds, ...space } = row;
    return organizationIds.includes(organizationId) ? { status: 'found', space } : { status: 'forbidden' };
  }
}
