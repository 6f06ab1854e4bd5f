import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { CAN_MOUNT } from './small-disk.js';

const SCENE = fileURLToPath(new URL('./full-store.mjs', import.meta.url));
const ROUNDS = 20;

/** The scene runs on a file system of 400 kB that only it sees, and prints what became of its transactions. */
it.skipIf(!CAN_MOUNT)('a commit that fails is refused to those who wait for it, and ends nobody', () => {
  const script = 'mount -t tmpfs -o size=400k none /mnt && exec "$0" "$1" /mnt "$2"';
  const argv = ['-rm', 'sh', '-c', script, process.execPath, SCENE, String(ROUNDS)];
  const { status, stdout, stderr } = spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  expect(JSON.parse(stdout)).toEqual({
    before: 'kept',
    refused: 3 * ROUNDS,
    codes: ['storage_unavailable'],
    message: 'The disk refuses writes (ENOSPC); nothing was kept.',
    problem: 'The disk refuses writes (ENOSPC); nothing was kept.',
    keys: ['after', 'before'],
    problemAfter: null,
  });
});

it.skipIf(!CAN_MOUNT)('any other unhandled rejection ends the process as before', () => {
  const script = 'mount -t tmpfs -o size=400k none /mnt && exec "$0" "$1" /mnt 1 other';
  const argv = ['-rm', 'sh', '-c', script, process.execPath, SCENE];
  const { status, stderr } = spawnSync('unshare', argv, { encoding: 'utf8', timeout: 60_000 });
  expect(status).toBe(1);
  expect(stderr).toContain('nobody holds this');
});
