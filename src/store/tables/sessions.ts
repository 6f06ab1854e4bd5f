import type { ControlStore, Table } from '../control-store.js';

/** One browser that is signed in, as kept: never its token, only the digest. */
export interface SessionRow {
  /** Hex SHA-256 of the token. */
  readonly id: string;
  /** API key by which it came in, and with which it ends; absent where it came by a link of the command line. */
  readonly keyId?: string;
  readonly organizationId: string;
  /** Name of that key, or who printed the link. */
  readonly name: string;
  /** Who came by a link of the command line may do what the command line does. */
  readonly isOperator: boolean;
  readonly createdAt: string;
  readonly expiresAt: string;
}

/** A link that lets one browser in, once. */
export interface SessionLinkRow {
  /** Hex SHA-256 of the link's token. */
  readonly id: string;
  readonly organizationId: string;
  readonly expiresAt: string;
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

  /** Adds a session; beyond `maxCount`, those that have least time left go. Expired ones go in any case. */
  add(row: SessionRow, maxCount: number): Promise<void> {
    return this.#store.transaction(() => this.#add(row, maxCount));
  }

  /**
   * Uses a link up and adds the session that `make` makes of it, in one transaction: of two browsers that come with one
   * link, one gets in. False where there is no such link, or none any more.
   */
  exchange(
    linkId: string,
    now: string,
    make: (link: SessionLinkRow) => SessionRow,
    maxCount: number,
  ): Promise<boolean> {
    return this.#store.transaction(() => {
      this.#sweep(now);
      const link = this.#links.get(linkId);
      if (link === undefined) return false;
      this.#links.removeSync(linkId);
      this.#add(make(link), maxCount);
      return true;
    });
  }

  /** Ends sessions; unknown ones are ended already. */
  remove(ids: readonly string[]): Promise<void> {
    return this.#store.freeing(() => {
      for (const id of ids) this.#sessions.removeSync(id);
    });
  }

  #add(row: SessionRow, maxCount: number): void {
    this.#sweep(row.createdAt);
    const kept = [...this.list()].sort((a, b) => (a.expiresAt < b.expiresAt ? -1 : 1));
    for (const { id } of kept.slice(0, Math.max(0, kept.length + 1 - maxCount)))
      this.#sessions.removeSync(id);
    this.#sessions.putSync(row.id, row);
  }

  #sweep(now: string): void {
    for (const { id, expiresAt } of this.list()) if (expiresAt <= now) this.#sessions.removeSync(id);
    const links = [...this.#links.getRange().map(({ value }) => value)];
    for (const { id, expiresAt } of links) if (expiresAt <= now) this.#links.removeSync(id);
  }
}
