import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import { SOON } from '../../tools/expectations.js';
import { askSql, createCredential, type SqlAnswer, type TestCredential } from '../../tools/sql-client.js';
import { startSqlScene, type SqlScene } from '../../tools/sql-scene.js';

/* How statements end that nobody lets end by themselves. */

let scene: SqlScene;

beforeAll(async () => {
  scene = await startSqlScene({ sql_timeout_seconds: 5, sql_memory_mib: 256 });
});
afterAll(() => scene.close());

const ask = (credential: TestCredential, sql: string, more?: object): Promise<SqlAnswer> =>
  askSql(scene, credential, sql, more);
const clientOf = ({ apiKey }: TestCredential): Client => createClient({ url: scene.url, key: apiKey });
/** Runs long wherever it is interrupted, and takes no memory. */
const ENDLESS = 'SELECT count(*) FROM range(100000000000)';

describe('what runs too long or takes too much', () => {
  it('ends at its timeout', async () => {
    const startedAt = performance.now();
    const answer = await ask(scene.one, ENDLESS, { timeout_seconds: 1 });
    expect([answer.status, answer.code]).toEqual([422, 'sql_statement_timeout']);
    expect(performance.now() - startedAt).toBeLessThan(15_000);
  });

  it('goes with its process where it does not heed the interrupt; the next statement finds a new one', async () => {
    // One call of a function cannot be interrupted, and this one takes half a minute.
    const deaf = "SELECT levenshtein(repeat('a', 100000), repeat('b', 100000))";
    const startedAt = performance.now();
    const answer = await ask(scene.one, deaf, { timeout_seconds: 1 });
    expect(answer.code).toBe('sql_statement_timeout');
    expect(performance.now() - startedAt).toBeLessThan(15_000);
    expect((await ask(scene.one, 'SELECT 1')).rows).toEqual([[1]]);
    expect((await ask(scene.two, 'SELECT 1')).rows).toEqual([[1]]);
  });

  it('is refused where memory would run out, and the server does not notice', async () => {
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
  it('ends running statements within a second, and those of no other credential', async () => {
    const doomed = await createCredential(scene, scene.one.apiKey);
    const running = ask(doomed, ENDLESS);
    const other = ask(scene.one, 'SELECT count(*) FROM range(300000000)');
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBeGreaterThan(1);
    const body = await clientOf(scene.one).call('sql_credentials.revoke', {
      params: { credential_id: doomed.id },
    });
    const revokedAt = performance.now();
    expect(Object.keys(body.data).sort()).toEqual(['revoked', 'sql_credential', 'sql_engine_user']);
    expect(body.data).toMatchObject({ sql_engine_user: doomed.user, revoked: true });
    const answer = await running;
    expect(performance.now() - revokedAt).toBeLessThan(1_000);
    expect([answer.status, answer.code]).toEqual([401, 'invalid_sql_credential']);
    expect((await ask(doomed, 'SELECT 1')).code).toBe('invalid_sql_credential');
    expect((await other).rows).toEqual([[300000000]]);
  });
});
