import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { compactIfDue } from '#src/store/compact.js';
import { openControlStore } from '#src/store/control-store.js';
import { CONTROL_FOLDER } from '#src/store/prepare.js';
import { openSnapshot } from '#src/store/snapshot.js';
import { latestVersion } from '#src/store/version.js';
import { ROOT } from '../tools/paths.js';

const SOURCE = join(ROOT, 'test/fixtures/data-folder-1');
const KILLS = 4;
const SEED = Number(process.env.GLOAMING_SEED ?? Math.floor(Math.random() * 2 ** 31));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-compact-'));
  mkdirSync(join(folder, CONTROL_FOLDER));
  writeFileSync(file(), gunzipSync(readFileSync(join(SOURCE, 'control.mdb.gz'))));
  cpSync(join(SOURCE, 'objects'), join(folder, 'objects'), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const file = (): string => join(folder, CONTROL_FOLDER, 'data.mdb');

/** Every row by table and key, as bytes, except the settings and the values that are sealed again each time. */
async function rowsOf(): Promise<ReadonlyMap<string, string>> {
  const snapshot = await openSnapshot(folder);
  const rows = new Map<string, string>();
  for (const table of snapshot.tableNames) {
    for (const { key, bytes } of snapshot.rows(table)) rows.set(`${table} ${key}`, bytes.toString('latin1'));
  }
  await snapshot.close();
  return rows;
}

/** Secrets that version 1 held in clear: webhook secrets, the key of seals, and secrets in stored responses. */
async function secretsInClear(): Promise<readonly string[]> {
  const leaked: string[] = [];
  for (const [place, bytes] of await rowsOf()) {
    const table = place.split(' ')[0]!;
    if (table === 'secrets') leaked.push(JSON.parse(bytes) as string);
    if (table === 'webhook-endpoints' || table === 'idempotency')
      leaked.push(...(bytes.match(/whsec_[\w+/=]+/g) ?? []));
    if (table === 'idempotency') leaked.push(...(bytes.match(/(?<=password\\":\\")[^\\]+/g) ?? []));
  }
  return [...new Set(leaked)];
}

describe('a control state with secrets in plain text', () => {
  it('has no secret in any byte of its file after the migration to the latest version', async () => {
    const secrets = await secretsInClear();
    expect(secrets.length).toBeGreaterThan(1);
    const standing = (): readonly string[] => {
      const bytes = readFileSync(file());
      return secrets.filter((secret) => bytes.includes(secret));
    };
    await openControlStore(folder).close();
    // The migration has sealed the rows, and freed the pages.
    expect(standing()).not.toEqual([]);
    const before = await rowsOf();
    await compactIfDue(folder);
    expect(standing()).toEqual([]);
    const after = await rowsOf();
    expect([...before.keys()].filter((key) => !after.has(key))).toEqual(['settings compaction-due']);
    expect([...after].filter(([key, bytes]) => before.get(key) !== bytes)).toEqual([]);
    expect(after.get('settings data-version')).toBe(`"${latestVersion()}"`);
    expect(readdirSync(join(folder, CONTROL_FOLDER)).sort()).toEqual(['data.mdb', 'lock.mdb']);
  });

  it(
    `is whole wherever a kill ends that, which begins anew (seed ${SEED})`,
    { timeout: 60_000 },
    async () => {
      const random = seededRandom(SEED);
      const module = JSON.stringify(new URL('../../dist/src/store/compact.js', import.meta.url).href);
      const compact = `await compactIfDue(${JSON.stringify(folder)})`;
      const script = `const { compactIfDue } = await import(${module}); console.log('begun'); ${compact}`;
      for (let kill = 0; kill < KILLS; kill += 1) {
        const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const ended = once(child, 'exit');
        await once(child.stdout, 'data');
        await pause(random.below(60));
        child.kill('SIGKILL');
        await ended;
        expect((await rowsOf()).size).toBeGreaterThanOrEqual(69);
      }
      await compactIfDue(folder);
      const store = openControlStore(folder);
      await store.transaction(() => store.table('settings').putSync('a', 'b'));
      await store.close();
      expect(readdirSync(join(folder, CONTROL_FOLDER)).sort()).toEqual(['data.mdb', 'lock.mdb']);
    },
  );
});
