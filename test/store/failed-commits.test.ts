import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { PROGRAM } from '../tools/paths.js';
import { CAN_MOUNT } from './small-disk.js';

const SCENE = fileURLToPath(new URL('./full-store.mjs', import.meta.url));
const ROUNDS = 20;

/** The child process runs on a private file system of 400 kB, and prints the results of its transactions. */
it.skipIf(!CAN_MOUNT)('a failed commit rejects for its callers, and the process survives', () => {
  const script = 'mount -t tmpfs -o size=400k none /mnt && exec "$0" "$1" /mnt "$2"';
  const argv = ['-rm', 'sh', '-c', script, process.execPath, SCENE, String(ROUNDS)];
  const { status, stdout, stderr } = spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    before: 'kept',
    refused: 3 * ROUNDS,
    codes: ['storage_unavailable'],
    message: 'The disk refuses writes (ENOSPC); nothing was written.',
    problem: 'The disk refuses writes (ENOSPC); nothing was written.',
    keys: ['after', 'before'],
    problemAfter: null,
  });
});

it.skipIf(!CAN_MOUNT)('any other unhandled rejection ends the process as before', () => {
  const script = 'mount -t tmpfs -o size=400k none /mnt && exec "$0" "$1" /mnt 1 other';
  const argv = ['-rm', 'sh', '-c', script, process.execPath, SCENE];
  const { status, stderr } = spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 });
  expect(status).toBe(1);
  expect(stderr).toContain('no handler is attached');
});

it.skipIf(!CAN_MOUNT).each([8, 16, 32, 64, 100])(
  'a new control state on a disk of %i kB is refused in a sentence, not by a signal',
  (kibibytes) => {
    const script = `mount -t tmpfs -o size=${kibibytes}k none /mnt && GLOAMING_DATA=/mnt exec "$0" "$1" keys list`;
    const argv = ['-rm', 'sh', '-c', script, process.execPath, PROGRAM];
    const { status, signal, stderr } = spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 });
    expect({ status, signal }).toEqual({ status: 2, signal: null });
    expect(stderr.trim()).toBe(
      'gloaming: /mnt cannot be written (ENOSPC): give this user the right to, make room, or name another ' +
        'folder by GLOAMING_DATA.',
    );
  },
);
