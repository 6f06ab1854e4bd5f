// @module-tag fast

import { describe, expect, it } from 'vitest';
import { SqlCredentialTable, type SqlCredentialRow } from '#src/store/tables/sql-credentials.js';
import { useScratchStore } from '../scratch-store.js';

const scratch = useScratchStore();
const same = <Row>(row: Row): Row => row;

function credential(id: string, more: Partial<SqlCredentialRow> = {}): SqlCredentialRow {
  return {
    id: `sqlc_${id}`,
    organizationId: 'lab',
    name: id,
    username: `sql_${id}`,
    passwordHash: 'hash',
    createdAt: '2026-01-01T00:00:00.000Z',
    ...more,
  };
}

const revokedAt = (day: number): string => `2026-02-0${day}T00:00:00.000Z`;

describe('a SQL credential', () => {
  it('is found by its id and by its user name', async () => {
    const table = new SqlCredentialTable(scratch.store);
    await table.add(credential('a'), 5);
    expect(table.get('sqlc_a')).toEqual(credential('a'));
    expect(table.findByUsername('sql_a')).toEqual(credential('a'));
    expect(table.findByUsername('sql_b')).toBeUndefined();
  });

  it('is not added beyond the limit of active ones; those of others and revoked ones do not count', async () => {
    const table = new SqlCredentialTable(scratch.store);
    await table.add(credential('r', { organizationId: 'rival' }), 1);
    await table.add(credential('a'), 1);
    expect(await table.add(credential('b'), 1)).toBe(false);
    await table.change('sqlc_a', { revokedAt: revokedAt(1) }, same);
    expect(await table.add(credential('b'), 1)).toBe(true);
    expect(table.list('lab').map(({ id }) => id)).toEqual(['sqlc_a', 'sqlc_b']);
  });

  it('that is revoked never changes again', async () => {
    const table = new SqlCredentialTable(scratch.store);
    await table.add(credential('a'), 1);
    await table.change('sqlc_a', { revokedAt: revokedAt(1) }, same);
    expect(
      await table.change('sqlc_a', { revokedAt: undefined, passwordHash: 'other' }, same),
    ).toBeUndefined();
    expect(table.get('sqlc_a')).toMatchObject({ revokedAt: revokedAt(1), passwordHash: 'hash' });
  });

  it('that was revoked before the most recent ones is deleted with its user name', async () => {
    const table = new SqlCredentialTable(scratch.store);
    for (const [index, id] of ['c', 'a', 'b'].entries()) {
      await table.add(credential(id), 2);
      await table.change(`sqlc_${id}`, { revokedAt: revokedAt(index + 1) }, same);
    }
    await table.add(credential('d'), 2);
    expect(table.list('lab').map(({ name }) => name)).toEqual(['a', 'b', 'd']);
    expect(table.findByUsername('sql_c')).toBeUndefined();
  });
});
