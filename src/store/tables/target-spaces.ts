import type { ControlStore } from '../control-store.js';

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
export type FoundTargetSpace =
  | { readonly status: 'found'; readonly space: TargetSpaceRow }
  | { readonly status: 'forbidden' }
  | { readonly status: 'unknown' };

/** The table `target-spaces`: one row per id; rows are never changed but for who sees them, and never go. */
export interface TargetSpaces {
  /** Lets the organization see the space, which is written if it is new. Repeating it writes nothing. */
  put(space: TargetSpaceRow, organizationId: string): Promise<void>;
  find(id: string, organizationId: string): FoundTargetSpace;
}

interface StoredRow extends TargetSpaceRow {
  /** Who made it or was granted it, ascending. */
  readonly organizationIds: readonly string[];
}

export function openTargetSpaces(store: ControlStore): TargetSpaces {
  const rows = store.table<StoredRow>('target-spaces');
  const isKnownTo = (row: StoredRow | undefined, organizationId: string): row is StoredRow =>
    row !== undefined && row.organizationIds.includes(organizationId);
  return {
    async put(space, organizationId) {
      // Nearly every filtered search comes here again: a read, which waits for no writer, settles it.
      if (isKnownTo(rows.get(space.id), organizationId)) return;
      await store.transaction(() => {
        const known = rows.get(space.id)?.organizationIds ?? [];
        const organizationIds = [...new Set([...known, organizationId])].sort();
        rows.putSync(space.id, { ...space, organizationIds });
      });
    },
    find(id, organizationId) {
      const row = rows.get(id);
      if (row === undefined) return { status: 'unknown' };
      if (!isKnownTo(row, organizationId)) return { status: 'forbidden' };
      const { organizationIds: _, ...space } = row;
      return { status: 'found', space };
    },
  };
}
