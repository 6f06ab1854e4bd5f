import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { processIdentity } from '#src/processes.js';
import { noteAddress, ownDataFolder, servedAddress } from '#src/store/owner.js';
import { PROGRAM } from '../tools/paths.js';
import { CAN_MOUNT, mountSmallDisk } from './small-disk.js';

let folder: string;
let lock: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-owner-'));
  lock = join(folder, 'server.lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A user without files of its own. Only root can start a process of another user. */
const OTHER_USER = { uid: 65_534, gid: 65_534, encoding: 'utf8' } as const;
const canBeOther =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, [PROGRAM, '--version'], { ...OTHER_USER, timeout: 20_000 }).status === 0;

it.skipIf(!canBeOther)('a data folder of another user is refused in one sentence', () => {
  const data = join(folder, 'data');
  chmodSync(folder, 0o755);
  mkdirSync(join(data, 'control'), { recursive: true, mode: 0o700 });
  writeFileSync(join(data, 'control', 'data.mdb'), '');
  chmodSync(data, 0o700);
  for (const words of [['keys', 'create', 'me'], ['doctor']]) {
    const env = { ...process.env, GLOAMING_DATA: data, GLOAMING_INDEXES: join(folder, 'indexes') };
    const ended = spawnSync(process.execPath, [PROGRAM, ...words], { ...OTHER_USER, env });
    expect([ended.status, ended.stderr]).toEqual([
      2,
      `gloaming: ${data} belongs to another user: run the command as that user, or name folders of your own by ` +
        'GLOAMING_DATA and GLOAMING_INDEXES.\n',
    ]);
  }
});

describe('the owner of a data folder', () => {
  it('notes its address for commands, which ignore that of an ended server', async () => {
    const disown = await ownDataFolder(folder);
    expect(servedAddress(folder)).toBeUndefined();
    const forget = noteAddress(folder, 'http://127.0.0.1:4242');
    expect(servedAddress(folder)).toBe('http://127.0.0.1:4242');
    await disown();
    expect(servedAddress(folder)).toBeUndefined();
    forget();
    expect(existsSync(join(folder, 'server.url'))).toBe(false);
  });

  it('is one process, until that process closes the folder', async () => {
    const disown = await ownDataFolder(folder);
    await expect(ownDataFolder(folder)).rejects.toMatchObject({
      code: 'data_folder_in_use',
      message: expect.stringContaining(`process ${process.pid}`),
    });
    await disown();
    await (
      await ownDataFolder(folder)
    )();
    expect(existsSync(lock)).toBe(false);
  });

  it.each([
    ['an ended process', { pid: 2 ** 22 + 1 }],
    ['an earlier process of the same pid', { ...processIdentity(process.pid), startTicks: '1' }],
    ['a machine that crashed while it was written', ''],
    ['another program', ['x']],
  ])('takes over the lock of %s', async (_, holder) => {
    writeFileSync(lock, holder === '' ? '' : JSON.stringify(holder));
    const disown = await ownDataFolder(folder);
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject(processIdentity(process.pid));
    await disown();
  });

  it('is one of several processes that start at once', async () => {
    writeFileSync(lock, JSON.stringify({ pid: 2 ** 22 + 1 }));
    const script = `import { ownDataFolder } from '#src/store/owner.js';
      const owned = ownDataFolder(${JSON.stringify(folder)});
      console.log(await owned.then(() => 'owner', ({ code }) => code));
      setTimeout(() => undefined, 3000);`;
    const children = Array.from({ length: 6 }, () =>
      spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      }),
    );
    const outputs = await Promise.all(children.map(({ stdout }) => text(stdout)));
    expect(outputs.filter((each) => each === 'owner\n')).toHaveLength(1);
  });

  it.skipIf(!CAN_MOUNT)('takes over a lock on a full disk, too', { timeout: 60_000 }, async () => {
    const disk = await mountSmallDisk(64);
    try {
      const environment = {
        ...process.env,
        GLOAMING_DATA: join(disk.folder, 'data'),
        GLOAMING_INDEXES: join(disk.folder, 'indexes'),
        GLOAMING_PORT: '0',
      };
      const serve = () => disk.spawn([process.execPath, PROGRAM, 'serve'], environment);
      const first = serve();
      await once(first.stdout!, 'data');
      first.kill('SIGKILL');
      await once(first, 'exit');
      disk.fill();
      const second = serve();
      const output = text(second.stderr!);
      await Promise.race([once(second.stdout!, 'data'), output.then((words) => expect(words).toBe(''))]);
      const path = join(disk.seen, 'data', 'server.lock');
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ pid: second.pid });
      second.kill('SIGKILL');
      await once(second, 'exit');
    } finally {
      disk.end();
    }
  });
});
