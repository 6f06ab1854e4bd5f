import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '#src/services/context.js';
import { Pages } from '#src/services/pages.js';
import { SqlCredentials } from '#src/services/sql/credentials.js';
import { openControlStore, type ControlStore } from '#src/store/control-store.js';
import { SqlCredentialTable } from '#src/store/tables/sql-credentials.js';
import { SOON } from '../../tools/expectations.js';

let folder: string;
let store: ControlStore;
let table: SqlCredentialTable;
let credentials: SqlCredentials;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-sql-credentials-'));
  store = openControlStore(folder);
  table = new SqlCredentialTable(store);
  let second = 0;
  const now = (): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, (second += 1)));
  credentials = new SqlCredentials({ table, pages: new Pages(Buffer.alloc(32)), now });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const same = <Row>(row: Row): Row => row;
const of = (organizationId: string) => ({ organizationId }) as RequestContext;
const create = async (organizationId = 'lab') =>
  (await credentials.create({ name: 'notebook', description: 'for plots' }, of(organizationId))).value;

describe('SQL credentials', () => {
  it('a SQL credential opens a session only in its own organization', async () => {
    const { sql_engine_user: user, password, sql_credential: credential } = await create();
    expect(await credentials.logIn(user, password)).toMatchObject({
      organizationId: 'lab',
      credentialId: credential.id,
    });
    expect(credential).toEqual({
      object: 'sql_credential',
      id: expect.stringMatching(/^sqlc_[0-9a-f]{24}$/),
      name: 'notebook',
      description: 'for plots',
      username: user,
      reader_role: 'gloaming_reader',
      environment_id: 'env_appliance',
      organization_id: 'lab',
      is_active: true,
      created_at: '2026-01-01T00:00:01.000Z',
    });
  });

  it('a wrong user, a wrong password and a revoked credential are refused in the same words', async () => {
    const first = await create();
    const second = await create('rivals');
    const wrong: readonly (readonly [string, string])[] = [
      [first.sql_engine_user, second.password],
      [first.sql_engine_user, `${first.password}x`],
      [first.sql_engine_user, ''],
      ['sql_0000000000000000', first.password],
      [second.sql_engine_user, first.password],
    ];
    for (const [user, password] of wrong) {
      await expect(credentials.logIn(user, password)).rejects.toMatchObject({
        code: 'invalid_sql_credential',
      });
    }
    await credentials.logIn(first.sql_engine_user, first.password);
    await credentials.revoke(first.sql_credential.id, of('lab'));
    await expect(credentials.logIn(first.sql_engine_user, first.password)).rejects.toMatchObject({
      code: 'invalid_sql_credential',
    });
  });

  it('the appliance stores a scrypt hash of the password, and never the password', async () => {
    const { password, sql_credential: credential } = await create();
    const row = table.get(credential.id);
    expect(row?.passwordHash).toMatch(/^scrypt\$16384\$8\$1\$/);
    expect(JSON.stringify(row)).not.toContain(password);
    expect(JSON.stringify(credentials.list({ limit: 10 }, of('lab')))).not.toMatch(/scrypt|gls_/);
  });

  it('after a rotation the new password opens a session and the earlier one does not', async () => {
    const before = await create();
    await credentials.logIn(before.sql_engine_user, before.password);
    const { value: after } = await credentials.rotate(before.sql_credential.id, of('lab'));
    expect(after.sql_engine_user).toBe(before.sql_engine_user);
    expect(after.sql_credential.last_rotated_at).toBe('2026-01-01T00:00:02.000Z');
    await credentials.logIn(after.sql_engine_user, after.password);
    await expect(credentials.logIn(before.sql_engine_user, before.password)).rejects.toMatchObject({
      code: 'invalid_sql_credential',
    });
  });

  it('a revoked credential cannot be revoked again or rotated', async () => {
    const { sql_credential: credential, sql_engine_user: user } = await create();
    const first = await credentials.revoke(credential.id, of('lab'));
    expect(first.value).toEqual({
      sql_engine_user: user,
      revoked: true,
      sql_credential: { ...credential, is_active: false, revoked_at: '2026-01-01T00:00:02.000Z' },
    });
    for (const change of ['revoke', 'rotate'] as const) {
      await expect(credentials[change](credential.id, of('lab'))).rejects.toMatchObject({
        code: 'sql_credential_revoked',
      });
    }
  });

  it('no other organization can list, revoke or rotate a credential', async () => {
    const { sql_credential: credential } = await create();
    for (const change of ['revoke', 'rotate'] as const) {
      await expect(credentials[change](credential.id, of('rivals'))).rejects.toMatchObject({
        code: 'permission_denied',
      });
      await expect(credentials[change]('sqlc_0', of('lab'))).rejects.toMatchObject({
        code: 'sql_credential_not_found',
      });
    }
    expect(credentials.list({ limit: 10 }, of('rivals')).value.data).toEqual([]);
    expect(credentials.list({ limit: 10 }, of('lab')).value.data).toEqual([credential]);
  });

  it('an organization has a limited number of live credentials, and revoked ones do not count', async () => {
    const row = { name: '', username: '', passwordHash: '', createdAt: '', organizationId: 'lab' };
    const add = (id: string, more = {}) => table.add({ ...row, id, username: id, ...more }, 2);
    expect(await add('a')).toBe(true);
    expect(await add('b')).toBe(true);
    expect(await add('c')).toBe(false);
    expect(await add('d', { organizationId: 'rivals' })).toBe(true);
    await table.change('a', { revokedAt: '1' }, same);
    expect(await add('c')).toBe(true);
    for (const [id, revokedAt] of [
      ['b', '2'],
      ['c', '3'],
    ]) {
      await table.change(id as string, { revokedAt }, same);
    }
    // The earliest of the three revoked ones is deleted.
    expect(await add('e')).toBe(true);
    expect(table.list('lab').map(({ id }) => id)).toEqual(['b', 'c', 'e']);
    expect(table.findByUsername('a')).toBe(undefined);
  });

  it('notify their watchers when they are revoked, in any process', async () => {
    const ended: string[] = [];
    for (const [name, end] of [
      ['here', (id: string) => credentials.revoke(id, of('lab'))],
      ['rotated', (id: string) => credentials.rotate(id, of('lab'))],
      // Simulates another process.
      ['elsewhere', (id: string) => table.change(id, { revokedAt: '2026-01-01T00:00:00.000Z' }, same)],
    ] as const) {
      const { sql_engine_user: user, password, sql_credential: credential } = await create();
      credentials.watch(await credentials.logIn(user, password), () => ended.push(name));
      await end(credential.id);
      await expect.poll(() => ended, SOON).toContain(name);
    }
    expect(ended).toEqual(['here', 'rotated', 'elsewhere']);
  });
});
