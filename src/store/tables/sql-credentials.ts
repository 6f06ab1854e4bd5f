import type { ControlStore, Table } from '../control-store.js';

/** One SQL credential as stored. The row has the hash of the password, never the password. */
export interface SqlCredentialRow {
  /** `sqlc_…`. */
  readonly id: string;
  readonly organizationId: string;
  readonly name: string;
  readonly description?: string;
  readonly username: string;
  /** In the format of services/sql/passwords.ts. */
  readonly passwordHash: string;
  readonly createdAt: string;
  readonly lastRotatedAt?: string;
  readonly revokedAt?: string;
}

/** The table `sql-credentials`, and its index `sql-credentials-by-username` for logins. */
export class SqlCredentialTable {
  readonly #store: ControlStore;
  readonly #rows: Table<SqlCredentialRow>;
  readonly #byUsername: Table<string>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#rows = store.table<SqlCredentialRow>('sql-credentials');
    this.#byUsername = store.table<string>('sql-credentials-by-username');
  }

  get(id: string): SqlCredentialRow | undefined {
    return this.#rows.get(id);
  }

  findByUsername(username: string): SqlCredentialRow | undefined {
    const id = this.#byUsername.get(username);
    return id === undefined ? undefined : this.#rows.get(id);
  }

  /** Credentials of an organization, revoked ones included. */
  list(organizationId: string): readonly SqlCredentialRow[] {
    return [...this.#rows.getRange().map(({ value }) => value)].filter(
      (row) => row.organizationId === organizationId,
    );
  }

  /**
   * Adds a credential. Returns false if the organization has `maxCount` active ones. Of the revoked ones, the most
   * recent `maxCount` are retained.
   * @param beside writes in the same transaction
   */
  add(row: SqlCredentialRow, maxCount: number, beside: () => void = () => undefined): Promise<boolean> {
    return this.#store.transaction(() => {
      const credentials = this.list(row.organizationId);
      if (credentials.filter(({ revokedAt }) => revokedAt === undefined).length >= maxCount) return false;
      const revoked = credentials.filter(({ revokedAt }) => revokedAt !== undefined).sort(latestRevokedFirst);
      for (const { id, username } of revoked.slice(maxCount)) {
        this.#rows.removeSync(id);
        this.#byUsername.removeSync(username);
      }
      this.#rows.putSync(row.id, row);
      this.#byUsername.putSync(row.username, row.id);
      beside();
      return true;
    });
  }

  /**
   * Changes a credential that is not revoked, and returns the value that `answer` computes in the same transaction.
   * undefined if there is none.
   */
  change<Answer>(
    id: string,
    change: Partial<SqlCredentialRow>,
    answer: (changed: SqlCredentialRow) => Answer,
  ): Promise<Answer | undefined> {
    return this.#store[change.revokedAt === undefined ? 'transaction' : 'freeing'](() => {
      const row = this.#rows.get(id);
      if (row === undefined || row.revokedAt !== undefined) return undefined;
      const changed = { ...row, ...change };
      this.#rows.putSync(id, changed);
      return answer(changed);
    });
  }
}

function latestRevokedFirst(a: SqlCredentialRow, b: SqlCredentialRow): number {
  return String(a.revokedAt) < String(b.revokedAt) ? 1 : -1;
}
