import type { KeyScope } from '../../contract/grammar/key-scopes.js';
import type { ControlStore, Table } from '../control-store.js';

/** One API key as stored. The row has the digest of the key, never the key. */
export interface ApiKeyRow {
  /** `key_…`. */
  readonly id: string;
  /** The 8 characters of the key that may be shown. The key is looked up by them. */
  readonly short: string;
  /** Hex SHA-256 of the whole key. */
  readonly sha256: string;
  readonly organizationId: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly createdAt: string;
  /** Time from which it is refused; absent = never. */
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  /** Time of the last use, at most an hour stale; absent = no use since uses are recorded. */
  readonly lastUsedAt?: string;
  /** Created once by `gloaming start`, for a first try. */
  readonly isDemo: boolean;
}

/** The table `api-keys`, by their short part. */
export class ApiKeyTable {
  readonly #store: ControlStore;
  readonly #rows: Table<ApiKeyRow>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#rows = store.table<ApiKeyRow>('api-keys');
  }

  findByShort(short: string): ApiKeyRow | undefined {
    return this.#rows.get(short);
  }

  list(): readonly ApiKeyRow[] {
    return [...this.#rows.getRange().map(({ value }) => value)];
  }

  /** Adds a key. Returns false if its short part is taken. */
  add(row: ApiKeyRow): Promise<boolean> {
    return this.#store.transaction(() => {
      if (this.#rows.get(row.short) !== undefined) return false;
      this.#rows.putSync(row.short, row);
      return true;
    });
  }

  /** Records a use of an existing key. */
  noteUse(short: string, lastUsedAt: string): Promise<void> {
    return this.#store.transaction(() => {
      const row = this.#rows.get(short);
      if (row !== undefined) this.#rows.putSync(short, { ...row, lastUsedAt });
    });
  }

  /** Revokes every active key that matches, in one transaction, and returns the revoked keys. */
  revoke(matches: (row: ApiKeyRow) => boolean, revokedAt: string): Promise<readonly ApiKeyRow[]> {
    return this.#store.freeing(() => {
      const revoked = this.list()
        .filter((row) => row.revokedAt === undefined && matches(row))
        .map((row) => ({ ...row, revokedAt }));
      for (const row of revoked) this.#rows.putSync(row.short, row);
      return revoked;
    });
  }
}
