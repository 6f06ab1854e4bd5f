import { createHash } from 'node:crypto';
import { Refusal } from '../../errors.js';
import { OPEN_ORGANIZATION } from '../../limits.js';
import type { KeyScope } from '../../contract/grammar/key-scopes.js';
import type { SessionBounds, SessionRow, SessionTable } from '../../store/tables/sessions.js';
import type { World } from '../../world.js';
import type { Principal } from '../context.js';
import type { Keys } from '../keys.js';

/** The user of a console. */
export interface Visitor extends Principal {
  /** Name that the console shows: the key's name. */
  readonly name: string;
  /**
   * Signed in by a link of the command line or by a key of scope `admin`: sees the system, creates and revokes keys.
   */
  readonly isOperator: boolean;
  /** Not signed in, but the settings let such visitors search. */
  readonly isOpen: boolean;
  /** Absent for visitors who have not signed in. */
  readonly sessionId?: string;
  readonly expiresAt?: string;
}

/** A new session. Its token is returned here only. */
export interface BegunSession {
  readonly token: string;
  readonly visitor: Visitor;
}

const TOKEN_BYTES = 32;
const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const SESSION_BOUNDS: SessionBounds = { total: 1_000, perKey: 20 };
export const SESSION_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
const LINK_LIFETIME_MS = 15 * 60 * 1000;
/** A visitor without a sign-in sees public databases and those granted to this organization. */
const OPEN_VISITOR: Visitor = Object.freeze({
  organizationId: OPEN_ORGANIZATION,
  keyId: OPEN_ORGANIZATION,
  name: 'visitor',
  isOperator: false,
  isOpen: true,
});

/** Signed-in browsers. */
export class Sessions {
  readonly #table: SessionTable;
  readonly #keys: Pick<Keys, 'authenticate' | 'live'>;
  readonly #world: World;
  readonly #isOpen: boolean;

  /** @param isOpen whether the settings let the network search without a key */
  constructor(table: SessionTable, keys: Pick<Keys, 'authenticate' | 'live'>, world: World, isOpen: boolean) {
    this.#table = table;
    this.#keys = keys;
    this.#world = world;
    this.#isOpen = isOpen;
  }

  /** Errors  Refusal `invalid_api_key` */
  async enterByKey(key: string): Promise<BegunSession> {
    const { keyId, organizationId, scope } = this.#keys.authenticate(key);
    const name = this.#keys.live(keyId)?.name ?? keyId;
    const isOperator = scope === 'admin';
    const { token, row } = this.#newSession({ keyId, organizationId, name, isOperator });
    await this.#table.add(row, SESSION_BOUNDS);
    return { token, visitor: visitorOf(row, scope) };
  }

  /** Errors  Refusal `invalid_api_key` if the link was used, has expired or never existed */
  async enterByLink(linkToken: string): Promise<BegunSession> {
    let begun: { readonly token: string; readonly row: SessionRow } | undefined;
    const isWellFormed = TOKEN_PATTERN.test(linkToken);
    const isUsed =
      isWellFormed &&
      (await this.#table.exchange(
        digestOf(linkToken),
        this.#world.now().toISOString(),
        ({ organizationId }) => {
          begun = this.#newSession({ organizationId, name: 'operator', isOperator: true });
          return begun.row;
        },
        SESSION_BOUNDS,
      ));
    if (isUsed && begun !== undefined) return { token: begun.token, visitor: visitorOf(begun.row) };
    throw new Refusal(
      'invalid_api_key',
      'This link was used or has expired. "gloaming console" prints a new one.',
    );
  }

  /** Returns a token that signs in one browser as the operator within a quarter of an hour. */
  async newLink(organizationId: string): Promise<string> {
    const token = this.#newToken();
    const now = this.#world.now();
    const expiresAt = new Date(now.getTime() + LINK_LIFETIME_MS).toISOString();
    await this.#table.addLink({ id: digestOf(token), organizationId, expiresAt }, now.toISOString());
    return token;
  }

  /** Returns the user of a browser. @param token of its cookie; undefined if it has none or the session has ended */
  find(token: string | undefined): Visitor | undefined {
    const row = token !== undefined && TOKEN_PATTERN.test(token) && this.#table.get(digestOf(token));
    if (row && this.#isLive(row)) {
      return visitorOf(row, row.keyId === undefined ? undefined : this.#keys.live(row.keyId)?.scope);
    }
    return this.#isOpen ? OPEN_VISITOR : undefined;
  }

  /** Sessions that have not ended. */
  list(): readonly SessionRow[] {
    return this.#table.list().filter((row) => this.#isLive(row));
  }

  /** Ends sessions by their ids, which are not secret. */
  async end(ids: readonly string[]): Promise<void> {
    await this.#table.remove(ids);
  }

  /** A session ends with the key that opened it. */
  #isLive({ expiresAt, keyId }: SessionRow): boolean {
    if (expiresAt <= this.#world.now().toISOString()) return false;
    return keyId === undefined || this.#keys.live(keyId) !== undefined;
  }

  #newSession(whose: Pick<SessionRow, 'keyId' | 'organizationId' | 'name' | 'isOperator'>): {
    readonly token: string;
    readonly row: SessionRow;
  } {
    const token = this.#newToken();
    const now = this.#world.now();
    const expiresAt = new Date(now.getTime() + SESSION_LIFETIME_MS).toISOString();
    return { token, row: { id: digestOf(token), ...whose, createdAt: now.toISOString(), expiresAt } };
  }

  #newToken(): string {
    return this.#world.randomBytes(TOKEN_BYTES).toString('base64url');
  }
}

/** @param scope of the key that opened the session; the operator's link has none */
function visitorOf(
  { id, keyId, organizationId, name, isOperator, expiresAt }: SessionRow,
  scope?: KeyScope,
): Visitor {
  // The operator has no key, so the requests of each operator session have a rate limit of their own.
  const spent = keyId ?? `console-${id.slice(0, 16)}`;
  const who = { keyId: spent, organizationId, name, isOperator, isOpen: false, sessionId: id, expiresAt };
  return scope === undefined ? who : { ...who, scope };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
