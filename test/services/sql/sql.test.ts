import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '#src/clients/typescript/client.js';
import { ARROW_STREAM_TYPE } from '#src/contract/sql.js';
import { INLINE_RESPONSE_MAX_BYTES, SQL_BATCH_MAX_BYTES } from '#src/limits.js';
import type { SqlBatch } from '#src/sql/engine/messages.js';
import { SOON } from '../../tools/expectations.js';
import { askSql, postSql, type SqlAnswer, type TestCredential } from '../../tools/sql-client.js';
import { HIDDEN_WORD, startSqlScene, type SqlScene } from '../../tools/sql-scene.js';

/* The HTTP interface of SQL, as curl uses it, with two organizations. */

let scene: SqlScene;

beforeAll(async () => {
  scene = await startSqlScene({ sql_timeout_seconds: 5, sql_memory_mib: 256 });
});
afterAll(() => scene.close());

const ask = (credential: TestCredential, sql: string, more?: object): Promise<SqlAnswer> =>
  askSql(scene, credential, sql, more);
const clientOf = ({ apiKey }: TestCredential): Client => createClient({ url: scene.url, key: apiKey });

describe('a world', () => {
  it('has the databases, releases, targets and attributes that the organization may see', async () => {
    const { rows: shared } = await ask(scene.one, 'SELECT slug FROM databases ORDER BY slug');
    expect(shared).toEqual([['demo']]);
    const { rows: both } = await ask(scene.two, 'SELECT slug FROM databases ORDER BY slug');
    expect(both).toEqual([['demo'], ['hidden']]);
    const { rows } = await ask(
      scene.two,
      'SELECT r."database", r.target_count, count(*), sum(t.length) = max(r.residue_count) ' +
        'FROM releases r JOIN targets t USING (release_id) GROUP BY ALL ORDER BY ALL',
    );
    expect(rows).toEqual([
      ['demo', 60, 60, true],
      ['hidden', 2, 2, true],
    ]);
    const { rows: sequences } = await ask(scene.one, 'SELECT sequence FROM targets ORDER BY target_index');
    expect(sequences.flat()).toEqual(scene.small.sequences);
  });

  it('shows attributes of every type as columns, under whatever name, and as rows', async () => {
    const { columns, rows } = await ask(scene.two, 'SELECT * EXCLUDE (sequence) FROM hidden.targets');
    expect(columns).toEqual([
      { name: 'target_index', type: 'INTEGER' },
      { name: 'target_id', type: 'VARCHAR' },
      { name: 'length', type: 'INTEGER' },
      { name: 'Gene', type: 'VARCHAR' },
      { name: 'gene_2', type: 'VARCHAR' },
      { name: `it's "odd"; --`, type: 'VARCHAR' },
      { name: 'mass', type: 'DOUBLE' },
      { name: 'tags', type: 'VARCHAR[]' },
      { name: 'known', type: 'BOOLEAN' },
      { name: 'taxid', type: 'BIGINT' },
    ]);
    expect(rows).toEqual([
      [0, `${HIDDEN_WORD}_1`, 10, 'abcA', 'abcB', null, 1.5, ['x', 'y"z'], true, 562],
      [1, `${HIDDEN_WORD}_2`, 3, null, null, "o'dd", null, [], null, null],
    ]);
    const { rows: long } = await ask(
      scene.two,
      `SELECT field, value FROM attributes WHERE target_id = $1 ORDER BY field`,
      { parameters: [`${HIDDEN_WORD}_2`] },
    );
    expect(long).toEqual([
      [`it's "odd"; --`, "o'dd"],
      ['tags', '[]'],
    ]);
  });

  it('has runs, their candidates and usage of the organization, and of no other', async () => {
    const query = { kind: 'protein_sequence', sequence: scene.small.sequences[0] as string } as const;
    const owner = clientOf(scene.one);
    const run = await owner.call('runs.create', {
      headers: { Prefer: 'wait=60' },
      body: {
        endpoint: 'homology.search',
        input: { query, limit: 7, evidence: 'pairwise_sequence_alignment' },
      } as never,
    });
    const batch = await owner.call('runs.create', {
      headers: { Prefer: 'wait=60' },
      body: {
        endpoint: 'homology.batch_search',
        input: { queries: [{ id: 'a', sequence: query.sequence }, { sequence: query.sequence }], limit: 3 },
      } as never,
    });
    const page = await owner.call('runs.results.list', { params: { run_id: run.data.id } });
    const sql =
      'SELECT run_id, endpoint, status, row_count, candidate_count, billable_units FROM runs ORDER BY created_at';
    await expect
      .poll(async () => (await ask(scene.one, sql)).rows, SOON)
      .toEqual([
        [run.data.id, 'homology.search', 'completed', 7, 7, 1],
        [batch.data.id, 'homology.batch_search', 'completed', 2, 6, 2],
      ]);
    const { rows } = await ask(
      scene.one,
      'SELECT rank, target_id, maxsim_bidirectional, affine_raw_score, cigar, alignment_query_end ' +
        'FROM candidates WHERE run_id = $1 ORDER BY rank',
      { parameters: [run.data.id] },
    );
    interface CandidateRow {
      readonly rank: number;
      readonly target: { readonly id: string };
      readonly measurements: {
        readonly maxsim: { readonly bidirectional: number };
        readonly affine: { readonly raw_score: number };
      };
      readonly alignment: { readonly cigar: string; readonly query_end: number };
    }
    const measured = (page.data as readonly CandidateRow[]).map(
      ({ rank, target, measurements, alignment }) => [
        rank,
        target.id,
        measurements.maxsim.bidirectional,
        measurements.affine.raw_score,
        alignment.cigar,
        alignment.query_end,
      ],
    );
    expect(rows).toEqual(measured);
    const { rows: queries } = await ask(
      scene.one,
      'SELECT query_index, query_id, count(*) FROM candidates WHERE run_id = $1 GROUP BY ALL ORDER BY ALL',
      { parameters: [batch.data.id] },
    );
    expect(queries).toEqual([
      [0, 'a', 3],
      [1, '1', 3],
    ]);
    const { rows: usage } = await ask(
      scene.one,
      'SELECT endpoint, sum(units) FROM usage GROUP BY ALL ORDER BY ALL',
    );
    expect(usage).toEqual([
      ['homology.batch_search', 2],
      ['homology.search', 1],
    ]);
    const { rows: others } = await ask(
      scene.two,
      'SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM candidates), (SELECT count(*) FROM usage)',
    );
    expect(others).toEqual([[0, 0, 0]]);
  });

  it('shows the databases that the organization may see', async () => {
    const { releases } = scene.small.appliance;
    const sql = `SELECT count(*) FROM targets WHERE target_id LIKE '${HIDDEN_WORD}%'`;
    expect((await ask(scene.one, sql)).rows).toEqual([[0]]);
    await releases.share('hidden', ['one', 'two']);
    expect((await ask(scene.one, sql)).rows).toEqual([[2]]);
    await releases.share('hidden', ['two']);
    expect((await ask(scene.one, sql)).rows).toEqual([[0]]);
    expect((await ask(scene.one, 'SELECT * FROM hidden.targets')).code).toBe('sql_statement_invalid');
  });
});

describe('POST /v1/sql/query', () => {
  it('returns values without a JSON number as text', async () => {
    const { rows, columns } = await ask(
      scene.one,
      "SELECT 9007199254740991, 9007199254740993, 'NaN'::DOUBLE, 1.50::DECIMAL(5,2), NULL, true, " +
        "TIMESTAMPTZ '2026-01-02 03:04:05+00', {a: 1, b: [2]}, DATE '2026-01-02', 1.5::DOUBLE",
    );
    expect(rows).toEqual([
      [
        9007199254740991,
        '9007199254740993',
        'NaN',
        '1.50',
        null,
        true,
        '2026-01-02 03:04:05+00',
        { a: 1, b: [2] },
        '2026-01-02',
        1.5,
      ],
    ]);
    expect(columns[3]?.type).toBe('DECIMAL(5,2)');
  });

  it.each([
    ["SELECT {'__proto__': 1, 'a': 2} AS v", 'a member "__proto__"'],
    ["SELECT [map {1: [{'__proto__': 1}]}] AS v", 'a member "__proto__"'],
    ['SELECT row(1, 2) AS v', 'a struct without names'],
    ['SELECT 1::VARIANT AS v', 'VARIANT'],
    ["SELECT ['POINT(0 0)'::GEOMETRY] AS v", 'GEOMETRY'],
  ])('refuses a value that its encoding would change: %s', async (sql, why) => {
    const { status, code, message } = await askSql(scene, scene.one, sql);
    expect([status, code]).toEqual([422, 'sql_statement_invalid']);
    expect(message).toContain('The column "v" ');
    expect(message).toContain(why);
    const text = await askSql(
      scene,
      scene.one,
      sql.replace(/^SELECT (.*) AS v$/, 'SELECT ($1)::VARCHAR AS v'),
    );
    expect([text.status, text.rows.length]).toEqual([200, 1]);
  });

  it('returns JSON and maps unchanged', async () => {
    const sql = `SELECT '{"__proto__":1}'::JSON AS j, map {'__proto__': 1} AS m, {'constructor': 1} AS s`;
    expect((await askSql(scene, scene.one, sql)).rows).toEqual([
      ['{"__proto__":1}', [{ key: '__proto__', value: 1 }], { constructor: 1 }],
    ]);
  });

  it('stops at the limit and reports the truncation', async () => {
    const some = await ask(scene.one, 'SELECT * FROM range(5000)', { limit: 4500 });
    expect([some.rows.length, some.isLimited, some.rows.at(-1)]).toEqual([4500, true, [4499]]);
    const all = await ask(scene.one, 'SELECT * FROM range(5000)', { limit: 5000 });
    expect([all.rows.length, all.isLimited]).toEqual([5000, false]);
    const none = await ask(scene.one, 'SELECT 1 WHERE false');
    expect([none.status, none.rows, none.columns.length]).toEqual([200, [], 1]);
  });

  it('refuses a response over 16 MiB and states how many rows would fit', async () => {
    const { code, message } = await ask(scene.one, "SELECT repeat('x', 100000) FROM range(400)");
    expect([code, message]).toEqual(['response_too_large', expect.stringMatching(/; 16[67] rows would fit/)]);
  });

  it('returns the stored Arrow response under the same Idempotency-Key', async () => {
    const keyed = { Accept: ARROW_STREAM_TYPE, 'Idempotency-Key': 'once' };
    const ask = (headers: Readonly<Record<string, string>>) =>
      postSql(scene, scene.one, { sql: 'SELECT random() AS r FROM range(100)' }, headers);
    const [first, second] = [await ask(keyed), await ask(keyed)];
    expect([first.status, first.headers.get('content-type')]).toEqual([200, ARROW_STREAM_TYPE]);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(second.headers.get('content-type')).toBe(ARROW_STREAM_TYPE);
    const [bytes, again] = [await first.arrayBuffer(), await second.arrayBuffer()];
    expect(Buffer.from(again).equals(Buffer.from(bytes))).toBe(true);
    expect(tableFromIPC(new Uint8Array(again)).numRows).toBe(100);
    const asJson = await ask({ 'Idempotency-Key': 'once' });
    expect(asJson.headers.get('service-error-type')).toBe('idempotency_key_reused');
    const large = { sql: "SELECT repeat('x', 100000) AS t FROM range(400)" };
    const refused = await postSql(scene, scene.one, large, { ...keyed, 'Idempotency-Key': 'large' });
    expect(refused.headers.get('service-error-type')).toBe('response_too_large');
  });

  it('streams Arrow to clients that accept it', async () => {
    const response = await postSql(
      scene,
      scene.two,
      { sql: 'SELECT i, i / 2 AS half, i::VARCHAR AS text, [i::VARCHAR] AS list FROM range(20000) AS r(i)' },
      { Accept: ARROW_STREAM_TYPE },
    );
    expect([response.status, response.headers.get('content-type')]).toEqual([200, ARROW_STREAM_TYPE]);
    const table = tableFromIPC(await response.arrayBuffer());
    expect(table.numRows).toBe(20_000);
    const last = { ...table.get(19_999)?.toJSON() };
    expect({ ...last, list: [...(last['list'] as Iterable<string>)] }).toEqual({
      i: 19_999n,
      half: 9999.5,
      text: '19999',
      list: ['19999'],
    });
    const typed = tableFromIPC(
      await (
        await postSql(
          scene,
          scene.two,
          { sql: 'SELECT * FROM hidden.targets' },
          { Accept: ARROW_STREAM_TYPE },
        )
      ).arrayBuffer(),
    );
    expect(typed.toArray().map((row) => row.known)).toEqual([true, null]);
  });

  it('leaves its engine in small pieces, however wide a row is, and counts a row with its last piece', async () => {
    const { sql, sqlCredentials } = scene.small.appliance;
    const statement = `SELECT n, repeat('é"', 500_000) AS wide FROM range(2) AS t(n)`;
    const login = sqlCredentials.resume(scene.one.id);
    const { signal } = new AbortController();
    const encodings = [
      { kind: 'json', limit: 5, maxBytes: INLINE_RESPONSE_MAX_BYTES },
      { kind: 'arrow' },
      { kind: 'postgres', formats: [] },
    ] as const;
    for (const encoding of encodings) {
      const options = { sql: statement, parameters: [], encoding, signal };
      const cursor = await sql.execute(login, 'http', options);
      const batches: SqlBatch[] = [];
      while (batches.at(-1)?.isDone !== true) batches.push(await cursor.fetch(1));
      const sizes = batches.map(({ bytes }) => bytes?.length ?? 0);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(SQL_BATCH_MAX_BYTES);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(3_000_000);
      expect(batches.map(({ rowCount }) => rowCount).filter((count) => count > 0)).toEqual([1, 1]);
    }
    const { rows } = await ask(scene.one, statement);
    expect(rows).toEqual([0, 1].map((n) => [n, 'é"'.repeat(500_000)]));
  });

  it('never presents the rows before a failure as a complete result', async () => {
    const failingAt = (row: number): string =>
      `SELECT CASE WHEN i = ${row} THEN error('late')::BIGINT ELSE i END FROM range(2000000) AS r(i)`;
    const whole = await ask(scene.one, failingAt(60_000), { limit: 100_000 });
    expect([whole.status, whole.code, whole.rows]).toEqual([422, 'sql_statement_invalid', []]);
    const sql = failingAt(1_500_000);
    const response = await postSql(scene, scene.one, { sql }, { Accept: ARROW_STREAM_TYPE });
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow('terminated');
    const { rows } = await ask(scene.one, sql, { limit: 10 });
    expect(rows.length).toBe(10);
  });

  it('refuses a key where a SQL credential belongs, and the other way round', async () => {
    const bearer = await fetch(`${scene.url}/v1/sql/query`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${scene.one.apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ sql: 'SELECT 1' }),
    });
    expect([bearer.status, bearer.headers.get('service-error-type')]).toEqual([
      401,
      'missing_sql_credential',
    ]);
    expect(bearer.headers.get('www-authenticate')).toMatch(/^Basic realm=/);
    const wrong = await ask({ ...scene.one, password: scene.two.password }, 'SELECT 1');
    expect([wrong.status, wrong.code]).toEqual([401, 'invalid_sql_credential']);
    const basic = Buffer.from(`${scene.one.user}:${scene.one.password}`).toString('base64');
    const runs = await fetch(`${scene.url}/v1/runs`, { headers: { Authorization: `Basic ${basic}` } });
    expect([runs.status, runs.headers.get('service-error-type')]).toEqual([401, 'invalid_api_key']);
  });

  it('returns the error message of a statement', async () => {
    const cases: readonly (readonly [string, string, RegExp])[] = [
      ['SELEC 1', 'sql_statement_invalid', /syntax error at or near "SELEC"/],
      ['SELECT nothing FROM targets', 'sql_statement_invalid', /"nothing" not found/],
      ['SELECT * FROM target', 'sql_statement_invalid', /Did you mean "targets/],
      ['SELECT $1', 'sql_statement_invalid', /takes 1 parameters; got 0/],
      ['SELECT 1; SELECT 2', 'sql_statement_refused', /One statement/],
    ];
    for (const [sql, code, message] of cases) {
      const answer = await ask(scene.one, sql);
      expect([answer.status, answer.code, answer.message]).toEqual([
        422,
        code,
        expect.stringMatching(message),
      ]);
    }
    expect((await ask(scene.one, ' -- nothing')).rows).toEqual([]);
  });

  it('logs each statement for the audit, without passwords', async () => {
    await ask(scene.two, "SELECT 'audited' AS word");
    const line = scene.logged.find(({ sql }) => sql === "SELECT 'audited' AS word");
    expect(line).toMatchObject({
      msg: 'sql statement',
      door: 'http',
      organization_id: 'two',
      credential_id: scene.two.id,
      outcome: 'completed',
      row_count: 1,
    });
    expect(JSON.stringify(scene.logged)).not.toContain(scene.two.password);
    const metrics = await (await fetch(`${scene.url}/metrics`)).text();
    expect(metrics).toMatch(/gloaming_sql_statements_total\{door="http",outcome="completed"\} \d+/);
  });
});
