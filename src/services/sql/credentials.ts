import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type {
  SqlCredential,
  SqlCredentialRequest,
  SqlCredentialRevocation,
  SqlCredentialSecret,
} from '../../contract/sql.js';
import { Refusal } from '../../errors.js';
import { newId } from '../../ids.js';
import {
  SQL_CREDENTIAL_CHECK_INTERVAL_MS,
  SQL_CREDENTIALS_MAX_COUNT,
  SQL_PASSWORD_BELIEF_MS,
} from '../../limits.js';
import type { SqlCredentialRow, SqlCredentialTable } from '../../store/tables/sql-credentials.js';
import type { RequestContext } from '../context.js';
import type { Page, PageRequest, Pages } from '../pages.js';
import type { Reply } from '../reply.js';
import { createPasswordCheck, hashSqlPassword, newSqlPassword } from './passwords.js';

/** Somebody who has shown the password of a credential. */
export interface SqlLogin {
  readonly credentialId: string;
  readonly organizationId: string;
  readonly username: string;
  /** Of the password that was shown: the login ends when it changes. */
  readonly passwordHash: string;
}

export interface SqlCredentials {
  /** Errors  Refusal `sql_credentials_full` */
  create(request: SqlCredentialRequest, context: RequestContext): Promise<Reply<SqlCredentialSecret>>;
  list(request: PageRequest, context: RequestContext): Reply<Page<SqlCredential>>;
  /** Errors  Refusal `sql_credential_not_found`, `sql_credential_revoked`, `permission_denied` */
  rotate(id: string, context: RequestContext): Promise<Reply<SqlCredentialSecret>>;
  /** Errors  those of rotate */
  revoke(id: string, context: RequestContext): Promise<Reply<SqlCredentialRevocation>>;
  /** Errors  Refusal `invalid_sql_credential`, whatever is wrong; `sql_busy` */
  logIn(username: string, password: string): Promise<SqlLogin>;
  /** The login of a credential that has shown its password to this request. Errors  as logIn */
  resume(credentialId: string): SqlLogin;
  /**
   * Calls back, once, when the login ends: revoked or given a new password by this process or another. The result
   * stops the watch.
   */
  watch(login: SqlLogin, onEnd: () => void): () => void;
}

const READER_ROLE = 'gloaming_reader';
const ENVIRONMENT_ID = 'env_appliance';

export interface SqlCredentialParts {
  readonly table: SqlCredentialTable;
  readonly pages: Pages;
  readonly now: () => Date;
}

export function createSqlCredentials({ table, pages, now }: SqlCredentialParts): SqlCredentials {
  const { watch, check } = createWatch((login) => holds(login, table));
  const findOwn = (id: string, { organizationId }: RequestContext): SqlCredentialRow => {
    const row = table.get(id);
    if (row === undefined)
      throw new Refusal('sql_credential_not_found', `No SQL credential has the id ${id}.`);
    if (row.organizationId === organizationId) return row;
    throw new Refusal('permission_denied', 'The SQL credential belongs to another organization.');
  };
  return {
    async create({ name, description }, { organizationId }) {
      const password = newSqlPassword();
      const row: SqlCredentialRow = {
        id: newId('sqlc'),
        organizationId,
        name,
        ...(description !== undefined && { description }),
        username: `sql_${randomBytes(8).toString('hex')}`,
        passwordHash: await hashSqlPassword(password),
        createdAt: now().toISOString(),
      };
      if (!(await table.add(row, SQL_CREDENTIALS_MAX_COUNT))) {
        throw new Refusal(
          'sql_credentials_full',
          `An organization has at most ${SQL_CREDENTIALS_MAX_COUNT} active SQL credentials; revoke one first.`,
        );
      }
      return { value: withPassword(row, password), generatedObjectIds: [row.id], outputRefs: [row.id] };
    },
    list(request, { organizationId }) {
      const rows = table.list(organizationId);
      const list = [organizationId, 'sql-credentials'];
      const page = pages.cut(rows, (row) => `${row.createdAt} ${row.id}`, request, list);
      return { value: { ...page, data: page.data.map(presentCredential) }, rowCount: page.data.length };
    },
    async rotate(id, context) {
      findOwn(id, context);
      const password = newSqlPassword();
      const passwordHash = await hashSqlPassword(password);
      const changed = await table.change(id, { passwordHash, lastRotatedAt: now().toISOString() });
      if (changed === undefined) throw alreadyRevoked();
      check();
      return { value: withPassword(changed, password), inputRefs: [id], outputRefs: [id] };
    },
    async revoke(id, context) {
      findOwn(id, context);
      const revoked = await table.change(id, { revokedAt: now().toISOString() });
      if (revoked === undefined) throw alreadyRevoked();
      check();
      return {
        value: {
          sql_engine_user: revoked.username,
          revoked: true,
          sql_credential: presentCredential(revoked),
        },
        inputRefs: [id],
      };
    },
    logIn: createLogIn(table),
    resume(credentialId) {
      const row = table.get(credentialId);
      if (row === undefined || row.revokedAt !== undefined) throw wrongCredential();
      return loginOf(row);
    },
    watch,
  };
}

function alreadyRevoked(): Refusal {
  return new Refusal('sql_credential_revoked', 'The SQL credential is revoked already; create another one.');
}

/** A password that was right is believed for a while, so that a stream of statements derives it once. */
function createLogIn(table: SqlCredentialTable): SqlCredentials['logIn'] {
  const isRight = createPasswordCheck();
  const believed = new LRUCache<string, Buffer>({ max: 1_000, ttl: SQL_PASSWORD_BELIEF_MS });
  return async (username, password) => {
    const row = table.findByUsername(username);
    const active = row?.revokedAt === undefined ? row : undefined;
    const digest = createHash('sha256').update(password).digest();
    const known = active && believed.get(active.passwordHash);
    const isKnown = known !== undefined && timingSafeEqual(known, digest);
    if (!isKnown && !(await isRight(password, active?.passwordHash))) throw wrongCredential();
    const login = active && loginOf(active);
    // It may have been revoked while the password was derived.
    if (login === undefined || !holds(login, table)) throw wrongCredential();
    believed.set(login.passwordHash, digest);
    return login;
  };
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

function holds({ credentialId, passwordHash }: SqlLogin, table: SqlCredentialTable): boolean {
  const row = table.get(credentialId);
  return row !== undefined && row.revokedAt === undefined && row.passwordHash === passwordHash;
}

/** Looks at the logins that are watched, at once when told to and otherwise every so often. */
function createWatch(isGood: (login: SqlLogin) => boolean) {
  const watched = new Map<object, { readonly login: SqlLogin; readonly onEnd: () => void }>();
  let timer: NodeJS.Timeout | undefined;
  const drop = (key: object): void => {
    watched.delete(key);
    if (watched.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const check = (): void => {
    for (const [key, { login, onEnd }] of watched) {
      if (isGood(login)) continue;
      drop(key);
      onEnd();
    }
  };
  return {
    check,
    watch(login: SqlLogin, onEnd: () => void): () => void {
      const key = {};
      watched.set(key, { login, onEnd });
      timer ??= setInterval(check, SQL_CREDENTIAL_CHECK_INTERVAL_MS).unref();
      return () => drop(key);
    },
  };
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
