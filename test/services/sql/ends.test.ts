import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import { askSql, createCredential, type SqlAnswer, type TestCredential } from '../../tools/sql-client.js';
import { startSqlScene, type SqlScene } from '../../tools/sql-scene.js';

/* Statements that end before their last row: by timeout, memory limit, cancellation or disconnect. */

let scene: SqlScene;

beforeAll(async () => {
  scene = await startSqlScene({ sql_timeout_seconds: 300, sql_memory_mib: 256 });
});
afterAll(() => scene.close());

const ask = (credential: TestCredential, sql: string, more?: object): Promise<SqlAnswer> =>
  askSql(scene, credential, sql, more);
const clientOf = ({ apiKey }: TestCredential): Client => createClient({ url: scene.url, key: apiKey });
/** Runs long, can be interrupted at any point, and needs no memory. */
const ENDLESS = 'SELECT count(*) FROM range(1000000000000000)';

describe('a statement over its limits', () => {
  it('ends at its timeout', async () => {
    const answer = await ask(scene.one, ENDLESS, { timeout_seconds: 1 });
    expect([answer.status, answer.code]).toEqual([422, 'sql_statement_timeout']);
  });

  it('ends with its process if it ignores the interrupt; the next statement gets a new one', async () => {
    // One call of a function cannot be interrupted, and this one takes an hour.
    const deaf = "SELECT levenshtein(repeat('a', 1000000), repeat('b', 1000000))";
    const answer = await ask(scene.one, deaf, { timeout_seconds: 1 });
    expect(answer.code).toBe('sql_statement_timeout');
    expect((await ask(scene.one, 'SELECT 1')).rows).toEqual([[1]]);
    expect((await ask(scene.two, 'SELECT 1')).rows).toEqual([[1]]);
  });

  it('is refused if memory would run out, and the server is unaffected', async () => {
    const bombs = [
      "SELECT length(string_agg(repeat('x', 1000000), '')) FROM range(100000)",
      'SELECT list(i) FROM range(1000000000) AS r(i)',
      'WITH RECURSIVE bomb AS (SELECT 1 AS a UNION ALL SELECT a FROM bomb, range(100)) SELECT count(*) FROM bomb',
      'SELECT count(*) FROM (SELECT DISTINCT a.i, b.i, c.i FROM range(100000) a(i), range(100000) b(i), range(9) c(i))',
      "SELECT repeat('x', 2000000000)",
    ];
    const server = process.memoryUsage().rss;
    for (const sql of bombs) {
      const { code } = await ask(scene.one, sql, { timeout_seconds: 2 });
      expect([sql, code]).toEqual([
        sql,
        expect.stringMatching(/^(sql_resources_exceeded|sql_statement_timeout|sql_statement_invalid)$/),
      ]);
      expect((await ask(scene.two, 'SELECT 1')).rows).toEqual([[1]]);
    }
    expect(process.memoryUsage().rss - server).toBeLessThan(200 * 1024 * 1024);
  }, 60_000);
});

describe('DELETE /v1/sql-credentials/{credential_id}', () => {
  it('ends running statements, and those of no other credential', async () => {
    const [doomed, other] = [
      await createCredential(scene, scene.one.apiKey),
      await createCredential(scene, scene.one.apiKey),
    ];
    const revoke = ({ id }: TestCredential) =>
      clientOf(scene.one).call('sql_credentials.revoke', { params: { credential_id: id } });
    let hasOtherEnded = false;
    const running = ask(doomed, ENDLESS);
    const otherRunning = ask(other, ENDLESS).finally(() => (hasOtherEnded = true));
    await expect.poll(() => scene.small.appliance.sql.counts().statements).toBe(2);
    const body = await revoke(doomed);
    expect(Object.keys(body.data).sort()).toEqual(['revoked', 'sql_credential', 'sql_engine_user']);
    expect(body.data).toMatchObject({ sql_engine_user: doomed.user, revoked: true });
    const answer = await running;
    expect([answer.status, answer.code]).toEqual([401, 'invalid_sql_credential']);
    expect((await ask(doomed, 'SELECT 1')).code).toBe('invalid_sql_credential');
    await expect.poll(() => scene.small.appliance.sql.counts().statements).toBe(1);
    expect(hasOtherEnded).toBe(false);
    await revoke(other);
    expect((await otherRunning).code).toBe('invalid_sql_credential');
  });
});
