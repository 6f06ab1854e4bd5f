import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { POSTGRES_LOGINS_MAX_COUNT } from '#src/limits.js';
import { SOON } from '../tools/expectations.js';
import {
  bind,
  describePortal,
  describeStatement,
  errorOf,
  execute,
  int32,
  logInPostgres,
  message,
  openPostgres,
  parse,
  query,
  rawRow,
  rowsOf,
  startup,
  SYNC,
  text,
  typesOf,
} from '../tools/postgres-client.js';
import { createCredential } from '../tools/sql-client.js';
import { startSqlScene, type SqlScene } from '../tools/sql-scene.js';

/*
 * The PostgreSQL protocol, byte by byte: messages that drivers other than psql send, and messages that no driver sends.
 */

const ENDLESS = 'SELECT count(*) FROM range(1000000000000000)';

let scene: SqlScene;
let port: number;

beforeAll(async () => {
  scene = await startSqlScene({ postgres_port: 0, sql_timeout_seconds: 300, sql_memory_mib: 256 });
  port = scene.small.postgresPort as number;
});
afterAll(() => scene.close());

describe('a login', () => {
  it("receives the server's parameters and a key for cancellation", async () => {
    const { greeting, end } = await logInPostgres(port, scene.one);
    expect(typesOf(greeting)).toMatch(/^RRS+KZ$/);
    const parameters = greeting.filter(({ type }) => type === 'S').map(({ body }) => body.toString());
    expect(parameters).toContain('server_encoding\0UTF8\0');
    end();
  });

  it.each([
    ['a wrong password', () => [scene.one.user, scene.two.password]],
    ['an unknown user', () => ['sql_0000000000000000', scene.one.password]],
    ['an API key', () => [scene.one.user, scene.one.apiKey]],
    ['nothing', () => ['', '']],
  ])('with %s is refused', async (_name, of) => {
    const [user, password] = of() as [string, string];
    const { greeting } = await logInPostgres(port, { user, password });
    expect(typesOf(greeting)).toBe('RE');
    expect(errorOf(greeting).code).toBe('28P01');
  });
});

describe('silent connections', () => {
  it('lock no client out: the oldest of them are closed, and sessions stay', async () => {
    const client = await logInPostgres(port, scene.one);
    const silent: Awaited<ReturnType<typeof openPostgres>>[] = [];
    let closedCount = 0;
    for (let index = 0; index < 600; index += 1) {
      const one = await openPostgres(port);
      one.socket.once('close', () => (closedCount += 1));
      // Every third connection begins a login and then stays silent.
      if (index % 3 === 0) one.send(startup({ user: scene.one.user, database: 'gloaming' }));
      silent.push(one);
    }
    for (let index = 0; index < 20; index += 1) {
      const next = await logInPostgres(port, scene.two);
      expect(typesOf(next.greeting)).toMatch(/Z$/);
      next.end();
    }
    await expect.poll(() => closedCount, SOON).toBeGreaterThanOrEqual(600 - POSTGRES_LOGINS_MAX_COUNT);
    expect(silent.at(-1)!.socket.destroyed).toBe(false);
    client.send(query('SELECT 1'));
    expect(typesOf(await client.until('Z'))).toBe('TDCZ');
    for (const one of silent) one.socket.destroy();
    client.end();
  });
});

describe('bytes that are not UTF-8', () => {
  const broken = Buffer.from([0x27, 0xc3, 0x28, 0x27]);

  it('are refused in a statement, and the session continues', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(message('Q', Buffer.from('SELECT '), broken, Buffer.from([0])));
    const answer = await client.until('Z');
    expect([typesOf(answer), errorOf(answer).code]).toEqual(['EZ', '22021']);
    client.send(query("SELECT '\u00e9\ufeff'"));
    expect(rowsOf(await client.until('Z'))).toEqual([['\u00e9\ufeff']]);
    client.end();
  });

  it.each([
    ['text', []],
    ['binary', [1]],
  ])('are refused in a parameter sent as %s, up to the next Sync', async (_name, parameters) => {
    const client = await logInPostgres(port, scene.one);
    client.send(parse('', 'SELECT $1', [25]), bind('', '', [broken], { parameters }), execute(''), SYNC);
    const answer = await client.until('Z');
    expect([typesOf(answer), errorOf(answer).code]).toEqual(['1EZ', '22021']);
    client.end();
  });

  it('are refused in a login', async () => {
    const client = await openPostgres(port);
    client.send(startup({ user: scene.one.user }), message('p', broken, Buffer.from([0])));
    expect(errorOf(await client.closed()).code).toBe('22021');
  });
});

describe('the extended protocol', () => {
  it('prepares, binds, describes and executes in one batch of messages', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(
      parse('', 'SELECT target_index, target_id FROM targets WHERE target_index < $1 ORDER BY 1'),
      bind('', '', ['2']),
      describePortal(''),
      execute(''),
      SYNC,
    );
    const answer = await client.until('Z');
    expect(typesOf(answer)).toBe('12TDDCZ');
    expect(rowsOf(answer)).toEqual([
      ['0', 'SIM01'],
      ['1', 'SIM02'],
    ]);
    expect(answer.at(-2)?.body.toString()).toBe('SELECT 2\0');
    client.end();
  });

  it('describes parameters and columns of a named statement, and executes the statement again', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(
      parse('s', 'SELECT length, true, target_id FROM targets WHERE target_index = $1'),
      describeStatement('s'),
      SYNC,
    );
    const described = await client.until('Z');
    expect(typesOf(described)).toBe('1tTZ');
    expect(described[1]?.body).toEqual(Buffer.from([0, 1, 0, 0, 0, 23]));
    for (const [value, length] of [
      ['0', scene.small.sequences[0]?.length],
      ['1', scene.small.sequences[1]?.length],
    ] as const) {
      client.send(bind('', 's', [value]), execute(''), SYNC);
      expect(rowsOf(await client.until('Z'))[0]?.[0]).toBe(String(length));
    }
    client.end();
  });

  it('returns rows in portions on request', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(query('BEGIN'));
    await client.until('Z');
    client.send(parse('', 'FROM range(5)'), bind('p', ''), execute('p', 2), SYNC);
    expect(typesOf(await client.until('Z'))).toBe('12DDsZ');
    client.send(execute('p', 2), SYNC);
    expect(typesOf(await client.until('Z'))).toBe('DDsZ');
    client.send(execute('p', 2), SYNC);
    const last = await client.until('Z');
    expect([typesOf(last), rowsOf(last)]).toEqual(['DCZ', [['4']]]);
    client.end();
  });

  it('reads and writes binary values', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(
      parse(
        '',
        "SELECT $1 + 1, 1.5::DOUBLE, true, 'é', TIMESTAMP '2000-01-01 00:00:01', NULL::INTEGER",
        [23],
      ),
      bind('', '', [int32(41)], { parameters: [1], results: [1] }),
      execute(''),
      SYNC,
    );
    const answer = await client.until('Z');
    expect(typesOf(answer)).toBe('12DCZ');
    const [sum, double, truth, letter, time, nothing] = rawRow(answer[2]?.body as Buffer) as Buffer[];
    expect([sum?.readBigInt64BE(0), double?.readDoubleBE(0), truth?.[0], letter?.toString()]).toEqual([
      42n,
      1.5,
      1,
      'é',
    ]);
    expect([time?.readBigInt64BE(0), nothing]).toEqual([1_000_000n, null]);
    client.end();
  });

  it('reads binary values of the types that it described', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(
      parse('s', 'SELECT count(*) FROM targets WHERE target_index < $1'),
      describeStatement('s'),
      bind('', 's', [int32(7)], { parameters: [1] }),
      execute(''),
      SYNC,
    );
    expect(rowsOf(await client.until('Z'))).toEqual([['7']]);
    client.end();
  });

  it('skips the messages after a failure, up to the next Sync', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(parse('', 'SELEC 1'), bind('', ''), execute(''), parse('x', 'SELECT 1'), SYNC);
    const failed = await client.until('Z');
    expect([typesOf(failed), errorOf(failed).code]).toEqual(['12EZ', '42601']);
    client.send(bind('', 'x'), SYNC);
    expect(errorOf(await client.until('Z')).code).toBe('26000');
    client.send(query('SELECT 1'));
    expect(typesOf(await client.until('Z'))).toBe('TDCZ');
    client.end();
  });

  it('refuses two statements in one prepared statement, and statements that do not read', async () => {
    const client = await logInPostgres(port, scene.one);
    for (const [sql, code] of [
      ['SELECT 1; SELECT 2', '42601'],
      ["COPY targets TO '/tmp/x'", '42501'],
      ["SELECT * FROM read_text('/etc/passwd')", '42501'],
      ["SET memory_limit = '100GB'", '42501'],
      ['CREATE TABLE mine (a INTEGER)', '42501'],
    ] as const) {
      client.send(parse('', sql), describeStatement(''), bind('', ''), execute(''), SYNC);
      expect([sql, errorOf(await client.until('Z')).code]).toEqual([sql, code]);
      client.send(query(sql));
      expect([sql, errorOf(await client.until('Z')).code]).toEqual([
        sql,
        sql.startsWith('SELECT 1') ? '' : code,
      ]);
    }
    client.end();
  });
});

describe('statements about the session', () => {
  it('are answered without the engine', async () => {
    const client = await logInPostgres(port, scene.one);
    for (const [sql, tag] of [
      ["SET client_encoding TO 'UTF8'", 'SET'],
      ['SET extra_float_digits = 3', 'SET'],
      ['/* driver */ BEGIN', 'BEGIN'],
      ['SAVEPOINT a', 'SAVEPOINT'],
      ['COMMIT', 'COMMIT'],
      ['DISCARD ALL', 'DISCARD ALL'],
      ['SHOW TRANSACTION ISOLATION LEVEL', 'SHOW'],
    ] as const) {
      client.send(query(sql));
      const answer = await client.until('Z');
      expect([sql, answer.at(-2)?.body.toString()]).toEqual([sql, `${tag}\0`]);
    }
    client.send(query(''));
    expect(typesOf(await client.until('Z'))).toBe('IZ');
    client.end();
  });

  it('keep a failed transaction failed until its end', async () => {
    const client = await logInPostgres(port, scene.one);
    const statuses: string[] = [];
    for (const sql of ['BEGIN', 'SELECT nothing', 'SELECT 1', 'ROLLBACK', 'SELECT 1']) {
      client.send(query(sql));
      const answer = await client.until('Z');
      statuses.push(`${errorOf(answer).code}${answer.at(-1)?.body.toString()}`);
    }
    expect(statuses).toEqual(['T', '42601E', '25P02E', 'I', 'I']);
    client.end();
  });
});

describe('the end of a statement or a session', () => {
  it('follows a cancellation from another connection, and the session continues', async () => {
    const client = await logInPostgres(port, scene.one);
    const key = client.greeting.find(({ type }) => type === 'K')?.body as Buffer;
    client.send(query(ENDLESS));
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(1);
    const wrong = await openPostgres(port);
    wrong.send(int32(16), int32(80_877_102), key.subarray(0, 4), int32(key.readInt32BE(4) ^ 1));
    await wrong.closed();
    const right = await openPostgres(port);
    right.send(int32(16), int32(80_877_102), key);
    const answer = await client.until('Z');
    expect(errorOf(answer).code).toBe('57014');
    client.send(query('SELECT 1'));
    expect(typesOf(await client.until('Z'))).toBe('TDCZ');
    client.end();
  });

  it('follows a revocation, for idle and busy sessions', async () => {
    const doomed = await createCredential(scene, scene.one.apiKey);
    const idle = await logInPostgres(port, doomed);
    const busy = await logInPostgres(port, doomed);
    const other = await logInPostgres(port, scene.two);
    busy.send(query(ENDLESS));
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(1);
    const { status } = await fetch(`${scene.url}/v1/sql-credentials/${doomed.id}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${doomed.apiKey}` },
    });
    expect(status).toBe(200);
    const byClient = await Promise.all([idle.closed(), busy.closed()]);
    expect(byClient.map((messages) => errorOf(messages).code)).toEqual(['57P01', '57P01']);
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(0);
    other.send(query('SELECT 1'));
    expect(typesOf(await other.until('Z'))).toBe('TDCZ');
    other.end();
  });

  it('follows a disconnect of the client', async () => {
    const client = await logInPostgres(port, scene.one);
    client.send(query(ENDLESS));
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(1);
    client.end();
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(0);
  });
});

describe('bytes that are not the protocol', () => {
  it.each([
    ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\nHost: a\r\n\r\n')],
    ['a first message of 2 GiB', Buffer.concat([int32(0x7fffffff), Buffer.alloc(1_000)])],
    ['a first message of no length', int32(0)],
    ['a negative length', int32(-5)],
    ['another version', Buffer.concat([int32(8), int32(131_072)])],
    ['names without end', Buffer.concat([int32(12), int32(196_608), Buffer.from('user')])],
    ['a query before the login', Buffer.concat([startup({ user: 'a' }), query('SELECT 1')])],
    ['a password of 1 MiB', Buffer.concat([startup({ user: 'a' }), message('p', Buffer.alloc(1 << 20, 65))])],
  ])('%s ends the connection, and no other', async (_name, bytes) => {
    const client = await openPostgres(port);
    client.send(bytes);
    const messages = await client.closed();
    expect(errorOf(messages).code).toBe('08P01');
    const next = await logInPostgres(port, scene.one);
    expect(typesOf(next.greeting)).toMatch(/Z$/);
    next.end();
  });

  it.each([
    ['a message of an unknown type', message('!', text('x'))],
    ['a message of 3 GiB', Buffer.concat([Buffer.from('Q'), Buffer.from([0xc0, 0, 0, 0])])],
    ['a Bind that ends within its values', message('B', text(''), text(''), Buffer.from([0, 0, 0, 9, 0, 0]))],
    ['a Query without its end', message('Q', Buffer.from('SELECT 1'))],
  ])('%s after the login ends the session, and no other', async (_name, bytes) => {
    const client = await logInPostgres(port, scene.one);
    const other = await logInPostgres(port, scene.one);
    client.send(parse('', 'SELECT 1'), bytes, SYNC);
    await client.closed();
    other.send(query('SELECT 1'));
    expect(typesOf(await other.until('Z'))).toBe('TDCZ');
    other.end();
  });

  it('refuses sessions beyond the bound of an organization, and frees them', async () => {
    const clients = await Promise.all(Array.from({ length: 32 }, () => logInPostgres(port, scene.one)));
    const { greeting } = await logInPostgres(port, scene.one);
    expect(errorOf(greeting).code).toBe('53300');
    const stranger = await logInPostgres(port, scene.two);
    expect(typesOf(stranger.greeting)).toMatch(/Z$/);
    for (const client of [...clients, stranger]) client.end();
    await expect
      .poll(async () => typesOf((await logInPostgres(port, scene.one)).greeting), SOON)
      .toMatch(/Z$/);
  });
});
