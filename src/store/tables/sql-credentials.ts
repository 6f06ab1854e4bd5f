import type { ControlStore } from '../control-store.js';

/** One SQL credential as kept: never the password, only its hash. */
export interface SqlCredentialRow {
  /** `sqlc_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly description?: string;
  readonly username: string;
  /** As services/sql/passwords.ts writes it. */
  readonly passwordHash: string;
  readonly createdAt: string;
  readonly lastRotatedAt?: string;
  readonly revokedAt?: string;
}

/** The table `sql-credentials`, and `sql-credentials-by-username` that finds who logs in. */
export interface SqlCredentialTable {
  get(id: string): SqlCredentialRow | undefined;
  findByUsername(username: string): SqlCredentialRow | undefined;
  /** Credentials of an organization, revoked ones included. */
  list(organizationId: string): readonly SqlCredentialRow[];
  /**
   * Adds a credential; false where the organization has as many active ones as it may have. Of the revoked ones, the
   * most recent `maxCount` are remembered.
   */
  add(row: SqlCredentialRow, maxCount: number): Promise<boolean>;
  /** Changes a credential that is not revoked; undefined where there is none. */
  change(id: string, change: Partial<SqlCredentialRow>): Promise<SqlCredentialRow | undefined>;
}

export function sqlCredentialTable(store: ControlStore): SqlCredentialTable {
  const rows = store.table<SqlCredentialRow>('sql-credentials');
  const byUsername = store.table<string>('sql-credentials-by-username');
  const list = (organizationId: string): SqlCredentialRow[] =>
    [...rows.getRange().map(({ value }) => value)].filter((row) => row.organizationId === organizationId);
  return {
    get: (id) => rows.get(id),
    findByUsername(username) {
      const id = byUsername.get(username);
      return id === undefined ? undefined : rows.get(id);
    },
    list,
    add: (row, maxCount) =>
      store.transaction(() => {
        const known = list(row.organizationId);
        if (known.filter(({ revokedAt }) => revokedAt === undefined).length >= maxCount) return false;
        const revoked = known.filter(({ revokedAt }) => revokedAt !== undefined).sort(latestRevokedFirst);
        for (const { id, username } of revoked.slice(maxCount)) {
          rows.removeSync(id);
          byUsername.removeSync(username);
        }
        rows.putSync(row.id, row);
        byUsername.putSync(row.username, row.id);
        return true;
      }),
    change: (id, change) =>
      store.transaction(() => {
        const row = rows.get(id);
        if (row === undefined || row.revokedAt !== undefined) return undefined;
        const changed = { ...row, ...change };
        rows.putSync(id, changed);
        return changed;
      }),
  };
}

function latestRevokedFirst(a: SqlCredentialRow, b: SqlCredentialRow): number {
  return String(a.revokedAt) < String(b.revokedAt) ? 1 : -1;
}
