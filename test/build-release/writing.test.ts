import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writing } from '#src/build-release/writing.js';
import { CAN_MOUNT } from '../store/small-disk.js';
import { PROGRAM } from '../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-writing-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('work that writes below the indexes folder', () => {
  it.each(['ENOSPC', 'EDQUOT'])('is refused in a sentence where the disk is full: %s', async (code) => {
    const work = (): Promise<never> => Promise.reject(Object.assign(new Error('write'), { code }));
    await expect(writing(join(folder, 'absent', 'folder'), work)).rejects.toMatchObject({
      code: 'disk_full',
      message: expect.stringContaining(`The disk of ${join(folder, 'absent', 'folder')} is full.`),
    });
  });

  it('returns its result, and fails with any other error as it is', async () => {
    expect(await writing(folder, () => Promise.resolve(1))).toBe(1);
    const error = Object.assign(new Error('read'), { code: 'EIO' });
    await expect(writing(folder, () => Promise.reject(error))).rejects.toBe(error);
  });

  it.skipIf(!CAN_MOUNT)('is refused in a sentence on a read-only disk', { timeout: 120_000 }, () => {
    const [indexes, data] = [join(folder, 'indexes'), join(folder, 'data')];
    mkdirSync(indexes);
    const fasta = join(folder, 'a.fasta');
    writeFileSync(fasta, '>a\nMKVLAWYDE\n>b\nMKVLA\n');
    const env = { ...process.env, GLOAMING_INDEXES: indexes, GLOAMING_DATA: data, GLOAMING_THREADS: '1' };
    const build = ['index', 'build', fasta, '--encoder', 'baseline-1', '--no-calibration', '--name'];
    const options = { env, encoding: 'utf8' } as const;
    expect(spawnSync(process.execPath, [PROGRAM, ...build, 'a'], options).stderr).not.toContain('gloaming:');
    const [release] = readdirSync(join(indexes, 'a'));
    const mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"';
    for (const [words, refused] of [
      [[...build, 'b'], indexes],
      [['index', 'calibrate', 'a', '--full'], join(indexes, 'a')],
      [['index', 'qualify', 'a'], join(indexes, 'a')],
      [['index', 'remove', 'a', '--yes'], join(indexes, 'a')],
      [['homolog-source', 'add', fasta, '--name', 's'], indexes],
    ] as const) {
      const argv = ['-rm', 'sh', '-c', mount, indexes, process.execPath, PROGRAM, ...words];
      const ended = spawnSync('unshare', argv, options);
      expect([ended.status, ended.stderr], words.join(' ')).toEqual([
        2,
        expect.stringMatching(
          new RegExp(`(^|\\n)gloaming: ${refused} cannot be written \\(EROFS\\): [^\\n]+\\n$`),
        ),
      ]);
    }
    expect(readdirSync(join(indexes, 'a'))).toEqual([release]);
  });
});
