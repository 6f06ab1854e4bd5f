import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Command } from 'commander';
import { afterAll, describe, expect, it } from 'vitest';
import { register } from '#src/cli/admin/upgrade.js';
import { openControlStore } from '#src/store/control-store.js';
import { copyPath } from '#src/store/copy.js';
import { latestVersion, VERSION_KEY } from '#src/store/version.js';
import { ROOT } from '../../tools/paths.js';

/* The data folder of version 1, the oldest that there is (test/fixtures/data-folder-1). */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-upgrade-'));
afterAll(() => rmSync(folder, { recursive: true }));

function dataFolder(name: string): string {
  const control = join(folder, name, 'control');
  mkdirSync(control, { recursive: true });
  const packed = readFileSync(join(ROOT, 'test/fixtures/data-folder-1/control.mdb.gz'));
  writeFileSync(join(control, 'data.mdb'), gunzipSync(packed));
  return join(folder, name);
}

async function upgrade(data: string, ...args: string[]): Promise<string> {
  const stdout = new PassThrough();
  const environment = { GLOAMING_DATA: data, GLOAMING_INDEXES: join(folder, 'indexes') };
  const program = new Command('gloaming').exitOverride();
  register(program, { environment, stdin: new PassThrough(), stdout, stderr: new PassThrough().resume() });
  await program.parseAsync(['node', 'gloaming', 'upgrade', ...args]);
  return String(stdout.read() ?? '');
}

describe('gloaming upgrade', () => {
  it('lists the migrations of the oldest data with --check, and changes nothing', async () => {
    const data = dataFolder('old');
    const before = readFileSync(join(data, 'control', 'data.mdb'));
    const report = await upgrade(data, '--check');
    expect(report).toContain(
      `control state: version 1 becomes ${latestVersion()}; an older program will not open it`,
    );
    for (let version = 2; version <= latestVersion(); version += 1)
      expect(report).toMatch(new RegExp(`^  ${version}: `, 'm'));
    expect(report).toContain(`will lie in ${copyPath(data, 1)}`);
    expect(report).toContain('that copy holds secrets in clear');
    expect(report).toMatch(/^contract: [\d.]+, digest \S+…; which one was served before is not known$/m);
    expect(readFileSync(join(data, 'control', 'data.mdb')).equals(before)).toBe(true);
    expect(existsSync(join(data, 'before-upgrade'))).toBe(false);
  });

  it('migrates, leaves a copy of the earlier state, and has nothing to do afterwards', async () => {
    const data = dataFolder('brought');
    const before = readFileSync(join(data, 'control', 'data.mdb'));
    expect(await upgrade(data)).toMatch(/Done\.\n$/);
    expect(readFileSync(copyPath(data, 1)).equals(before)).toBe(true);
    const report = await upgrade(data, '--check');
    expect(report).toContain(`control state: version ${latestVersion()}, which this program writes\n`);
    expect(report).toMatch(/^contract: .*, as before$/m);
  });

  it('refuses data of a newer program in one sentence', async () => {
    const data = dataFolder('newer');
    const store = openControlStore(data);
    await store.table<string>('settings').put(VERSION_KEY, String(latestVersion() + 1));
    await store.close();
    await expect(upgrade(data, '--check')).rejects.toThrow(/was written by a newer Gloaming: [^.]+\.$/);
  });

  it('reports a folder without data', async () => {
    expect(await upgrade(join(folder, 'none'), '--check')).toContain('has none yet; it begins with version');
  });
});
