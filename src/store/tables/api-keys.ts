import type { KeyScope } from '../../contract/grammar/key-scopes.js';
import type { ControlStore, Table } from '../control-store.js';

/** One API key as kept: never the key itself, only its digest. */
export interface ApiKeyRow {
  /** `key_…`. */
  readonly id: string;
  /** The 8 characters of the key that may be shown, and by which it is looked up. */
  readonly short: string;
  /** Hex SHA-256 of the whole key. */
  readonly sha256: string;
  readonly organizationId: string;
  readonly name: string;
  readonly scope: KeyScope;
  readonly createdAt: string;
  /** From then on it is refused; absent = never. */
  readonly expiresAt?: string;
  readonly revokedAt?: string;
  /** When it was last seen to be used, an hour late at most; absent = never since this was noted. */
  readonly lastUsedAt?: string;
  /** Minted by `gloaming start` for the one who tries it out, once. */
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

  /** Adds a key; false where its short part is taken. */
  add(row: ApiKeyRow): Promise<boolean> {
    return this.#store.transaction(() => {
      if (this.#rows.get(row.short) !== undefined) return false;
      this.#rows.putSync(row.short, row);
      return true;
    });
  }

  /** Notes a use of a key that is still there. */
  noteUse(short: string, lastUsedAt: string): Promise<void> {
    return this.#store.transaction(() => {
      const row = this.#rows.get(short);
      if (row !== undefined) this.#rows.putSync(short, { ...row, lastUsedAt });
    });
  }

  /** Revokes every live key that matches, in one transaction, and says which. */
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
