import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SOON } from '../tools/expectations.js';
import { createCredential, type TestCredential } from '../tools/sql-client.js';
import { HIDDEN_WORD, startSqlScene, type SqlScene } from '../tools/sql-scene.js';

/* Runs psql of Debian's postgresql-client with two organizations, over TLS if openssl is installed. */

const hasPsql = spawnSync('psql', ['--version']).status === 0;
const hasOpenssl = spawnSync('openssl', ['version']).status === 0;
if (!hasPsql) console.log('The psql tests are skipped: no psql (Debian: postgresql-client).');
if (!hasOpenssl) console.log('The psql tests run without TLS: no openssl to make a certificate with.');

const folder = mkdtempSync(join(tmpdir(), 'gloaming-psql-'));
let scene: SqlScene;

interface Output {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function psql(
  { user, password }: TestCredential,
  words: readonly string[],
  sslmode = hasOpenssl ? 'require' : 'disable',
): Promise<Output> & { readonly pid: number | undefined } {
  const address = `host=127.0.0.1 port=${scene.small.postgresPort} dbname=gloaming user=${user} sslmode=${sslmode}`;
  const child = spawn('psql', ['-X', '-A', '-t', '-v', 'ON_ERROR_STOP=1', ...words, address], {
    env: { PATH: process.env['PATH'], PGPASSWORD: password, HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const done = new Promise<Output>((resolve) => child.on('close', (code) => resolve({ code, ...output })));
  return Object.assign(done, { pid: child.pid });
}

function certificate(): object {
  if (!hasOpenssl) return {};
  const [keyFile, certificateFile] = ['key.pem', 'certificate.pem'].map((name) => join(folder, name));
  spawnSync('openssl', [
    ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'.split(
      ' ',
    ),
    ...['-keyout', keyFile as string, '-out', certificateFile as string],
  ]);
  return { tls: { certificate_file: certificateFile, key_file: keyFile } };
}

beforeAll(async () => {
  // HTTP uses TLS in this test, too, with the same self-signed certificate.
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  scene = await startSqlScene({ ...certificate(), postgres_port: 0, sql_timeout_seconds: 300 });
});
afterAll(async () => {
  await scene.close();
  delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  rmSync(folder, { recursive: true });
});

describe.skipIf(!hasPsql)('psql', () => {
  it('reads the tables of its organization', async () => {
    const sql = `SELECT target_id, tags, known FROM hidden.targets ORDER BY 1`;
    expect(await psql(scene.two, ['-c', sql])).toMatchObject({
      code: 0,
      stdout: `${HIDDEN_WORD}_1|{"x","y\\"z"}|t\n${HIDDEN_WORD}_2|{}|\n`,
    });
    const stranger = await psql(scene.one, ['-c', sql]);
    expect([stranger.code, stranger.stdout]).toEqual([1, '']);
    expect(stranger.stderr).toMatch(/ERROR: .*does not exist/);
  });

  it('lists and describes tables, views and schemas', async () => {
    const tables = await psql(scene.two, ['-c', '\\d']);
    expect(tables.stderr).toBe('');
    expect(tables.stdout).toContain('main|candidates|view|gloaming');
    expect(tables.stdout).toContain('hidden|targets|view|gloaming');
    const shared = await psql(scene.one, ['-c', '\\d', '-c', '\\dn']);
    expect(shared.stderr).toBe('');
    expect(shared.stdout).not.toContain('hidden');
    for (const name of ['runs', 'usage', 'databases', 'demo.targets']) {
      const described = await psql(scene.one, ['-c', `\\d ${name}`]);
      expect([name, described.code, described.stderr]).toEqual([name, 0, '']);
      expect(described.stdout.split('\n').length).toBeGreaterThan(4);
    }
  });

  it('sends several statements, transactions and describe-only statements', async () => {
    const several = await psql(scene.one, ['-c', 'BEGIN; SELECT 1; SELECT 2; COMMIT']);
    expect(several).toEqual({ code: 0, stdout: 'BEGIN\n1\n2\nCOMMIT\n', stderr: '' });
    const escaped = await psql(scene.one, ['-c', String.raw`SELECT E'a\'b;c'; SELECT 2 /* /* ; */ ; */`]);
    expect(escaped).toEqual({ code: 0, stdout: "a'b;c\n2\n", stderr: '' });
    const file = join(folder, 'describe.sql');
    writeFileSync(file, "SELECT 1 AS a, 'x' AS b \\gdesc\n");
    const described = await psql(scene.one, ['-f', file]);
    expect(described).toEqual({ code: 0, stdout: 'a|integer\nb|text\n', stderr: '' });
  });

  it('reads a million rows', async () => {
    const { code, stdout, stderr } = await psql(scene.one, ['-c', 'FROM range(1000000)']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.length).toBe(6_888_890);
    expect(stdout.endsWith('\n999999\n')).toBe(true);
  }, 60_000);

  it('is refused every statement that leaves its snapshot', async () => {
    for (const [sql, message] of [
      ["COPY (SELECT 1) TO '/tmp/x.csv'", /ERROR: {2}Only reading statements/],
      ["\\copy (SELECT 1) to '/dev/null'", /ERROR: {2}Only reading statements/],
      ["SELECT * FROM read_text('/etc/passwd')", /ERROR: {2}Statements cannot call the table function/],
      ["ATTACH '/tmp/x.db'", /ERROR: {2}Only reading statements/],
      ["SET memory_limit = '1TB'", /ERROR: {2}Only reading statements/],
      ['LISTEN anything', /ERROR/],
    ] as const) {
      const { code, stderr } = await psql(scene.one, ['-c', sql]);
      expect([sql, code, stderr]).toEqual([sql, 1, expect.stringMatching(message)]);
    }
  });

  it('gets no row of a result that fails before its end', async () => {
    const sql =
      "SELECT CASE WHEN i = 300000 THEN error('late')::BIGINT ELSE i END FROM range(500000) AS r(i)";
    const { code, stdout, stderr } = await psql(scene.one, ['-c', sql]);
    expect([code, stdout, stderr]).toEqual([1, '', expect.stringMatching(/ERROR: {2}The statement failed/)]);
  });

  it('receives the error of a timeout, and of a wrong password', async () => {
    const late = await psql(scene.one, [
      ...['-c', "SET statement_timeout = '1s'"],
      ...['-c', 'SELECT count(*) FROM range(1000000000000000)'],
    ]);
    expect([late.code, late.stderr]).toEqual([1, expect.stringMatching(/ran longer than 1 s/)]);
    const wrong = await psql({ ...scene.one, password: scene.two.password }, ['-c', 'SELECT 1']);
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringMatching(/FATAL: {2}User name or password is wrong/),
    ]);
  });

  it('cancels a statement with Ctrl-C', async () => {
    const running = psql(scene.one, ['-c', 'SELECT count(*) FROM range(1000000000000000)']);
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(1);
    process.kill(running.pid as number, 'SIGINT');
    expect((await running).stderr).toMatch(/ERROR: {2}The statement was cancelled/);
  });

  it('loses its session when the credential is revoked', async () => {
    const doomed = await createCredential(scene, scene.one.apiKey);
    const running = psql(doomed, ['-c', 'SELECT count(*) FROM range(1000000000000000)']);
    await expect.poll(() => scene.small.appliance.sql.counts().statements, SOON).toBe(1);
    await fetch(`${scene.url}/v1/sql-credentials/${doomed.id}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${doomed.apiKey}` },
    });
    const { code, stderr } = await running;
    expect([code, stderr]).toEqual([2, expect.stringMatching(/FATAL: {2}The SQL credential was revoked/)]);
  });

  it.skipIf(!hasOpenssl)('may connect without TLS from this machine only', async () => {
    const plain = await psql(scene.one, ['-c', 'SELECT 1'], 'disable');
    expect(plain).toMatchObject({ code: 0, stdout: '1\n' });
    const safe = await psql(scene.one, ['-c', '\\conninfo']);
    expect(safe.stdout).toMatch(/TLSv1\.3/);
  });
});
