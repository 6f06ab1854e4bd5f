import type { ControlStore } from '../control-store.js';

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
  readonly createdAt: string;
  readonly revokedAt?: string;
  /** Minted by `gloaming start` for the one who tries it out; the next start revokes it. */
  readonly isDemo: boolean;
}

export interface ApiKeyTable {
  findByShort(short: string): ApiKeyRow | undefined;
  list(): readonly ApiKeyRow[];
  /** Adds a key; false where its short part is taken. */
  add(row: ApiKeyRow): Promise<boolean>;
  /** Revokes every live key that matches, in one transaction, and says which. */
  revoke(matches: (row: ApiKeyRow) => boolean, revokedAt: string): Promise<readonly ApiKeyRow[]>;
}

export function apiKeyTable(store: ControlStore): ApiKeyTable {
  const rows = store.table<ApiKeyRow>('api-keys');
  const list = (): readonly ApiKeyRow[] => [...rows.getRange().map(({ value }) => value)];
  return {
    findByShort: (short) => rows.get(short),
    list,
    add: (row) =>
      store.transaction(() => {
        if (rows.get(row.short) !== undefined) return false;
        rows.putSync(row.short, row);
        return true;
      }),
    revoke: (matches, revokedAt) =>
      store.transaction(() => {
        const revoked = list()
          .filter((row) => row.revokedAt === undefined && matches(row))
          .map((row) => ({ ...row, revokedAt }));
        for (const row of revoked) rows.putSync(row.short, row);
        return revoked;
      }),
  };
}
