import { createHash } from 'node:crypto';
import { Refusal } from '../../errors.js';
import type { KeyScope } from '../../contract/grammar/key-scopes.js';
import type { SessionRow, SessionTable } from '../../store/tables/sessions.js';
import type { World } from '../../world.js';
import type { Principal } from '../context.js';
import type { Keys } from '../keys.js';

/** Who looks at the console. */
export interface Visitor extends Principal {
  /** What the console calls it: the key's name. */
  readonly name: string;
  /** Came by a link of the command line, or by a key of the scope `admin`: sees the system, makes and revokes keys. */
  readonly isOperator: boolean;
  /** Nobody has signed in; the settings let such visitors search. */
  readonly isOpen: boolean;
  /** Absent for those who have not signed in. */
  readonly sessionId?: string;
  readonly expiresAt?: string;
}

/** A session as it begins: the only time that its token is seen. */
export interface BegunSession {
  readonly token: string;
  readonly visitor: Visitor;
}

const TOKEN_BYTES = 32;
const TOKEN_PATTERN = /^[A-Za-z0-9_-]{43}$/;
const SESSIONS_MAX_COUNT = 1_000;
export const SESSION_LIFETIME_MS = 7 * 24 * 60 * 60 * 1000;
const LINK_LIFETIME_MS = 15 * 60 * 1000;
/** Whom visitors that have not signed in speak for: it sees public databases, and those granted to it. */
const OPEN_ORGANIZATION = 'console-open';
const OPEN_VISITOR: Visitor = Object.freeze({
  organizationId: OPEN_ORGANIZATION,
  keyId: OPEN_ORGANIZATION,
  name: 'visitor',
  isOperator: false,
  isOpen: true,
});

/** Browsers that are signed in. */
export class Sessions {
  readonly #table: SessionTable;
  readonly #keys: Pick<Keys, 'authenticate' | 'live'>;
  readonly #world: World;
  readonly #isOpen: boolean;

  /** @param isOpen the settings let the network search without a key */
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
    await this.#table.add(row, SESSIONS_MAX_COUNT);
    return { token, visitor: visitorOf(row, scope) };
  }

  /** Errors  Refusal `invalid_api_key` where the link was used, has expired or never was */
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
        SESSIONS_MAX_COUNT,
      ));
    if (isUsed && begun !== undefined) return { token: begun.token, visitor: visitorOf(begun.row) };
    throw new Refusal(
      'invalid_api_key',
      'This link was used or has expired. "gloaming console" prints a new one.',
    );
  }

  /** A token that lets one browser in within the next quarter of an hour, as the operator. */
  async newLink(organizationId: string): Promise<string> {
    const token = this.#newToken();
    const now = this.#world.now();
    const expiresAt = new Date(now.getTime() + LINK_LIFETIME_MS).toISOString();
    await this.#table.addLink({ id: digestOf(token), organizationId, expiresAt }, now.toISOString());
    return token;
  }

  /** Whose browser this is. @param token of its cookie; undefined where it has none or the session has ended */
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

  /** Ends sessions by their ids, which are no secrets. */
  async end(ids: readonly string[]): Promise<void> {
    await this.#table.remove(ids);
  }

  /** A session ends with the key by which it came in. */
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

/** @param scope  of the key by which the session came in; the operator's link has none */
function visitorOf(
  { id, keyId, organizationId, name, isOperator, expiresAt }: SessionRow,
  scope?: KeyScope,
): Visitor {
  // The operator has no key: the requests of each of his sessions are counted by themselves.
  const spent = keyId ?? `console-${id.slice(0, 16)}`;
  const who = { keyId: spent, organizationId, name, isOperator, isOpen: false, sessionId: id, expiresAt };
  return scope === undefined ? who : { ...who, scope };
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
