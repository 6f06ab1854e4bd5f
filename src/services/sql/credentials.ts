import { createHash, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type {
  SqlCredential,
  SqlCredentialRequest,
  SqlCredentialRevocation,
  SqlCredentialSecret,
} from '../../contract/sql.js';
import { Refusal } from '../../errors.js';
import {
  SQL_CREDENTIAL_CHECK_INTERVAL_MS,
  SQL_CREDENTIALS_MAX_COUNT,
  SQL_PASSWORD_CACHE_MS,
} from '../../limits.js';
import type { SqlCredentialRow, SqlCredentialTable } from '../../store/tables/sql-credentials.js';
import { realWorld, type World } from '../../world.js';
import { remembered, type RequestContext } from '../context.js';
import type { Page, PageRequest, Pages } from '../pages.js';
import type { Reply } from '../reply.js';
import { hashSqlPassword, newSqlPassword, PasswordCheck } from './passwords.js';

/** A session that has presented the password of a credential. */
export interface SqlLogin {
  readonly credentialId: string;
  readonly organizationId: string;
  readonly username: string;
  /** Hash of the presented password. The session ends when the hash changes. */
  readonly passwordHash: string;
}

const READER_ROLE = 'gloaming_reader';
const ENVIRONMENT_ID = 'env_appliance';

interface SqlCredentialsDependencies {
  readonly table: SqlCredentialTable;
  readonly pages: Pages;
  readonly now: () => Date;
  /** Default realWorld. */
  readonly world?: World;
}

/** SQL credentials of organizations, and the sessions that use them. */
export class SqlCredentials {
  readonly #table: SqlCredentialTable;
  readonly #pages: Pages;
  readonly #now: () => Date;
  readonly #world: World;
  readonly #passwords = new PasswordCheck();
  /** Verified passwords by credential, for a limited time, so that a stream of statements derives the key once. */
  readonly #verified = new LRUCache<string, Buffer>({ max: 1_000, ttl: SQL_PASSWORD_CACHE_MS });
  readonly #watch: LoginWatch;

  constructor({ table, pages, now, world = realWorld }: SqlCredentialsDependencies) {
    this.#table = table;
    this.#pages = pages;
    this.#now = now;
    this.#world = world;
    this.#watch = new LoginWatch((login) => this.#holds(login), world);
  }

  /** Errors  Refusal `sql_credentials_full` */
  async create(
    { name, description }: SqlCredentialRequest,
    context: RequestContext,
  ): Promise<Reply<SqlCredentialSecret>> {
    const { organizationId } = context;
    const password = newSqlPassword(this.#world);
    const row: SqlCredentialRow = {
      id: this.#world.newId('sqlc'),
      organizationId,
      name,
      ...(description !== undefined && { description }),
      username: `sql_${this.#world.randomBytes(8).toString('hex')}`,
      passwordHash: await hashSqlPassword(password, this.#world),
      createdAt: this.#now().toISOString(),
    };
    const reply: Reply<SqlCredentialSecret> = {
      value: withPassword(row, password),
      generatedObjectIds: [row.id],
      outputRefs: [row.id],
    };
    const remember = (): void => context.keyed?.remember(reply);
    if (!(await this.#table.add(row, SQL_CREDENTIALS_MAX_COUNT, remember))) {
      throw new Refusal(
        'sql_credentials_full',
        `An organization has at most ${SQL_CREDENTIALS_MAX_COUNT} active SQL credentials; revoke one first.`,
      );
    }
    return reply;
  }

  list(request: PageRequest, { organizationId }: RequestContext): Reply<Page<SqlCredential>> {
    const rows = this.#table.list(organizationId);
    const list = [organizationId, 'sql-credentials'];
    const page = this.#pages.cut(rows, (row) => `${row.createdAt} ${row.id}`, request, list);
    return { value: { ...page, data: page.data.map(presentCredential) }, rowCount: page.data.length };
  }

  /** Errors  Refusal `sql_credential_not_found`, `sql_credential_revoked`, `permission_denied` */
  async rotate(id: string, context: RequestContext): Promise<Reply<SqlCredentialSecret>> {
    this.#requireOwn(id, context);
    const password = newSqlPassword(this.#world);
    const passwordHash = await hashSqlPassword(password, this.#world);
    const change = { passwordHash, lastRotatedAt: this.#now().toISOString() };
    const reply = await this.#table.change(id, change, (changed) =>
      remembered({ value: withPassword(changed, password), inputRefs: [id], outputRefs: [id] }, context),
    );
    if (reply === undefined) throw alreadyRevoked();
    this.#watch.check();
    return reply;
  }

  /** Errors  those of rotate */
  async revoke(id: string, context: RequestContext): Promise<Reply<SqlCredentialRevocation>> {
    this.#requireOwn(id, context);
    const revocation = await this.#table.change(id, { revokedAt: this.#now().toISOString() }, (revoked) => ({
      sql_engine_user: revoked.username,
      revoked: true as const,
      sql_credential: presentCredential(revoked),
    }));
    if (revocation === undefined) throw alreadyRevoked();
    this.#watch.check();
    return { value: revocation, inputRefs: [id] };
  }

  /** Errors  Refusal `invalid_sql_credential` for any cause; `sql_busy` */
  async logIn(username: string, password: string): Promise<SqlLogin> {
    const row = this.#table.findByUsername(username);
    const active = row?.revokedAt === undefined ? row : undefined;
    const digest = createHash('sha256').update(password).digest();
    const cachedDigest = active && this.#verified.get(active.passwordHash);
    const isVerified = cachedDigest !== undefined && timingSafeEqual(cachedDigest, digest);
    const isRight = isVerified || (await this.#passwords.isRight(password, active?.passwordHash));
    if (!isRight || active === undefined) throw wrongCredential();
    const login = loginOf(active);
    // The credential may have been revoked while the key was derived.
    if (!this.#holds(login)) throw wrongCredential();
    this.#verified.set(login.passwordHash, digest);
    return login;
  }

  /** The login of a credential whose password this request has presented. Errors  as logIn */
  resume(credentialId: string): SqlLogin {
    const row = this.#table.get(credentialId);
    if (row === undefined || row.revokedAt !== undefined) throw wrongCredential();
    return loginOf(row);
  }

  /**
   * Calls `onEnd` once when the login ends: its credential was revoked or got a new password, in this process or
   * another. The returned function stops the watch.
   */
  watch(login: SqlLogin, onEnd: () => void): () => void {
    return this.#watch.add(login, onEnd);
  }

  #requireOwn(id: string, { organizationId }: RequestContext): void {
    const row = this.#table.get(id);
    if (row === undefined)
      throw new Refusal('sql_credential_not_found', `No SQL credential has the id ${id}.`);
    if (row.organizationId === organizationId) return;
    throw new Refusal('permission_denied', 'The SQL credential belongs to another organization.');
  }

  #holds({ credentialId, passwordHash }: SqlLogin): boolean {
    const row = this.#table.get(credentialId);
    return row !== undefined && row.revokedAt === undefined && row.passwordHash === passwordHash;
  }
}

interface WatchedLogin {
  readonly login: SqlLogin;
  readonly onEnd: () => void;
}

/** Checks the watched logins at once on request, and otherwise periodically. */
class LoginWatch {
  readonly #isGood: (login: SqlLogin) => boolean;
  readonly #watched = new Set<WatchedLogin>();
  readonly #world: World;
  #endChecks: (() => void) | undefined;

  constructor(isGood: (login: SqlLogin) => boolean, world: World) {
    this.#isGood = isGood;
    this.#world = world;
  }

  add(login: SqlLogin, onEnd: () => void): () => void {
    const watched = { login, onEnd };
    this.#watched.add(watched);
    this.#endChecks ??= this.#world.every(SQL_CREDENTIAL_CHECK_INTERVAL_MS, () => this.check());
    return () => this.#drop(watched);
  }

  check(): void {
    for (const watched of this.#watched) {
      if (this.#isGood(watched.login)) continue;
      this.#drop(watched);
      watched.onEnd();
    }
  }

  #drop(watched: WatchedLogin): void {
    this.#watched.delete(watched);
    if (this.#watched.size > 0) return;
    this.#endChecks?.();
    this.#endChecks = undefined;
  }
}

function alreadyRevoked(): Refusal {
  return new Refusal('sql_credential_revoked', 'The SQL credential is revoked already; create another one.');
}

function wrongCredential(): Refusal {
  return new Refusal(
    'invalid_sql_credential',
    'User name or password is wrong, or the SQL credential was revoked.',
  );
}

function loginOf({ id, organizationId, username, passwordHash }: SqlCredentialRow): SqlLogin {
  return { credentialId: id, organizationId, username, passwordHash };
}

function withPassword(row: SqlCredentialRow, password: string): SqlCredentialSecret {
  return { sql_engine_user: row.username, password, sql_credential: presentCredential(row) };
}

function presentCredential(row: SqlCredentialRow): SqlCredential {
  return {
    object: 'sql_credential',
    id: row.id,
    name: row.name,
    username: row.username,
    reader_role: READER_ROLE,
    environment_id: ENVIRONMENT_ID,
    organization_id: row.organizationId,
    is_active: row.revokedAt === undefined,
    created_at: row.createdAt,
    ...(row.description !== undefined && { description: row.description }),
    ...(row.lastRotatedAt !== undefined && { last_rotated_at: row.lastRotatedAt }),
    ...(row.revokedAt !== undefined && { revoked_at: row.revokedAt }),
  };
}
