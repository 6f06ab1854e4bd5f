import {
  closeSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { writeOutput } from '#src/cli/search/output.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-output-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (path: string, text: string) => writeOutput([text], path, new PassThrough());

describe('a file of --output', () => {
  it('that is a link stays one, and the file behind it is replaced', async () => {
    const [file, link, further] = ['real.tsv', 'link.tsv', 'further.tsv'].map((name) => join(folder, name));
    writeFileSync(file!, 'before\n');
    symlinkSync('real.tsv', link!);
    symlinkSync(link!, further!);
    await write(further!, 'after\n');
    expect(readFileSync(file!, 'utf8')).toBe('after\n');
    expect(lstatSync(link!).isSymbolicLink()).toBe(true);
    expect(lstatSync(further!).isSymbolicLink()).toBe(true);
  });

  it.skipIf(!existsSync('/proc/self/fd'))(
    'that is a link to an open file, as /dev/stdout is, is written in place',
    async () => {
      const [file, link] = ['open.tsv', 'stdout'].map((name) => join(folder, name));
      const open = openSync(file!, 'w');
      symlinkSync(`/proc/self/fd/${open}`, link!);
      await write(link!, 'rows\n');
      closeSync(open);
      expect(readFileSync(file!, 'utf8')).toBe('rows\n');
      expect(lstatSync(link!).isSymbolicLink()).toBe(true);
    },
  );

  it('in a folder that does not exist is refused by its name', async () => {
    const path = join(folder, 'none', 'a.tsv');
    await expect(write(path, 'rows\n')).rejects.toMatchObject({
      code: 'file_not_found',
      message: `The folder of ${path} does not exist: make ${join(folder, 'none')} first.`,
    });
  });
});
