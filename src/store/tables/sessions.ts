import type { ControlStore, Table } from '../control-store.js';

/** One signed-in browser as stored. The row has the digest of the token, never the token. */
export interface SessionRow {
  /** Hex SHA-256 of the token. */
  readonly id: string;
  /** API key that opened the session and whose revocation ends it; absent if a link of the command line opened it. */
  readonly keyId?: string;
  readonly organizationId: string;
  /** Name of that key, or of the user who printed the link. */
  readonly name: string;
  /** A session from a link of the command line has the rights of the command line. */
  readonly isOperator: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** A link that signs in one browser, once. */
export interface SessionLinkRow {
  /** Hex SHA-256 of the link's token. */
  readonly id: string;
  readonly organizationId: string;
  readonly expiresAt: string;
}

/** Bounds on open sessions. Sessions from links of the command line count as those of one key. */
export interface SessionBounds {
  readonly total: number;
  readonly perKey: number;
}

/** The tables `sessions` and `session-links`, by digest. */
export class SessionTable {
  readonly #store: ControlStore;
  readonly #sessions: Table<SessionRow>;
  readonly #links: Table<SessionLinkRow>;

  constructor(store: ControlStore) {
    this.#store = store;
    this.#sessions = store.table<SessionRow>('sessions');
    this.#links = store.table<SessionLinkRow>('session-links');
  }

  get(id: string): SessionRow | undefined {
    return this.#sessions.get(id);
  }

  list(): readonly SessionRow[] {
    return [...this.#sessions.getRange().map(({ value }) => value)];
  }

  addLink(row: SessionLinkRow, now: string): Promise<void> {
    return this.#store.transaction(() => {
      this.#sweep(now);
      this.#links.putSync(row.id, row);
    });
  }

  /**
   * Adds a session. Beyond the bounds, sessions with the least time left are removed: of the same key, or, if all keys
   * together have too many, of the key that has the most. Expired sessions are always removed.
   */
  add(row: SessionRow, bounds: SessionBounds): Promise<void> {
    return this.#store.transaction(() => this.#add(row, bounds));
  }

  /**
   * Uses up a link and adds the session that `make` returns, in one transaction. Of two browsers with one link, only
   * one is signed in. Returns false if the link does not exist or was used.
   */
  exchange(
    linkId: string,
    now: string,
    make: (link: SessionLinkRow) => SessionRow,
    bounds: SessionBounds,
  ): Promise<boolean> {
    return this.#store.transaction(() => {
      this.#sweep(now);
      const link = this.#links.get(linkId);
      if (link === undefined) return false;
      this.#links.removeSync(linkId);
      this.#add(make(link), bounds);
      return true;
    });
  }

  /** Ends sessions. Unknown ids are ignored. */
  remove(ids: readonly string[]): Promise<void> {
    return this.#store.freeing(() => {
      for (const id of ids) this.#sessions.removeSync(id);
    });
  }

  #add(row: SessionRow, bounds: SessionBounds): void {
    this.#sweep(row.createdAt);
    const sessions = this.list().toSorted((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1));
    const own = sessions.filter(({ keyId }) => keyId === row.keyId);
    const surplus = own.slice(0, Math.max(0, own.length + 1 - bounds.perKey));
    if (surplus.length === 0 && sessions.length >= bounds.total)
      surplus.push(...ofGreatestHolder(sessions).slice(0, 1));
    for (const { id } of surplus) this.#sessions.removeSync(id);
    this.#sessions.putSync(row.id, row);
  }

  #sweep(now: string): void {
    for (const { id, expiresAt } of this.list()) if (expiresAt <= now) this.#sessions.removeSync(id);
    const links = [...this.#links.getRange().map(({ value }) => value)];
    for (const { id, expiresAt } of links) if (expiresAt <= now) this.#links.removeSync(id);
  }
}

/** The sessions, in their order, of the key that has the most. */
function ofGreatestHolder(sessions: readonly SessionRow[]): readonly SessionRow[] {
  const holders = new Map<string | undefined, SessionRow[]>();
  for (const session of sessions) {
    const ofKey = holders.get(session.keyId) ?? [];
    ofKey.push(session);
    holders.set(session.keyId, ofKey);
  }
  return [...holders.values()].reduce((most, each) => (each.length > most.length ? each : most), []);
}
