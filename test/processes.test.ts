import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAlive, lockFolder, processIdentity } from '#src/processes.js';

let folder: string;
let lock: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gloaming-lock-'));
  lock = join(folder, 'lock');
});
afterEach(() => rmSync(folder, { recursive: true }));

const NAMESPACE = ['-rpf', '--mount-proc', '--kill-child'];
const CAN_UNSHARE = spawnSync('unshare', [...NAMESPACE, 'true']).status === 0;
const own = processIdentity(process.pid);
const ended = { ...own, pid: 2 ** 22 + 1 };

describe('the lock of a folder', () => {
  it.skipIf(!CAN_UNSHARE)(
    'excludes a process of another container while it lives, and is taken over when it has ended',
    { timeout: 60_000 },
    async () => {
      const script = `import { lockFolder } from '#src/processes.js';
        await lockFolder(${JSON.stringify(folder)});
        console.log('locked');
        setInterval(() => undefined, 1000);`;
      const argv = [...NAMESPACE, process.execPath, '--input-type=module', '-e', script];
      const holder = spawn('unshare', argv, { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(createInterface({ input: holder.stdout }), 'line');
      // This process does not see the namespace's numbers of processes.
      const { pid } = JSON.parse(readFileSync(lock, 'utf8')) as { pid: number };
      await expect(lockFolder(folder)).rejects.toMatchObject({
        code: 'build_running',
        message: `This database is being built by process ${pid}; wait until it is done.`,
      });
      // The output ends with the last process of the namespace.
      holder.kill('SIGKILL');
      await once(holder, 'close');
      const unlock = await lockFolder(folder);
      expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject(own);
      await unlock();
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  it.each([
    ['another container without a socket', { ...own, pidNamespace: 'pid:[1]' }],
    ['another container whose socket is lost', { ...own, pidNamespace: 'pid:[1]', socket: 'lock.1.alive' }],
    ['another machine', { ...ended, host: 'elsewhere', bootId: 'another' }],
  ])('of %s is refused by a message that names the file to delete', async (_, holder) => {
    writeFileSync(lock, JSON.stringify(holder));
    const refused = lockFolder(folder);
    await expect(refused).rejects.toMatchObject({ code: 'build_running', details: { pid: holder.pid } });
    await expect(refused).rejects.toThrow(
      `${lock} is the lock of process ${holder.pid} on the host ${holder.host}, in another container or on another ` +
        'machine, so that this process cannot check whether it still runs. If it has ended, delete that file',
    );
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toEqual(holder);
    expect(isAlive(holder)).toBe(false);
    rmSync(lock);
    await (
      await lockFolder(folder)
    )();
  });

  it.each([
    ['a process before the reboot', { ...own, bootId: 'another' }],
    ['an ended process', ended],
    ['an ended process, by an older version', { pid: ended.pid }],
    ['an earlier process of this number, by an older version', { pid: process.pid, startTicks: '1' }],
  ])('of %s is taken over', async (_, holder) => {
    writeFileSync(lock, JSON.stringify(holder));
    const unlock = await lockFolder(folder);
    expect(JSON.parse(readFileSync(lock, 'utf8'))).toMatchObject(own);
    await unlock();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is held where the path is too long for a socket', async () => {
    const long = join(folder, 'x'.repeat(100));
    mkdirSync(long);
    const unlock = await lockFolder(long);
    expect(JSON.parse(readFileSync(join(long, 'lock'), 'utf8'))).toEqual(own);
    expect(readdirSync(long)).toEqual(['lock']);
    await unlock();
  });
});
