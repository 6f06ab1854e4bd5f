// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openHashedFile } from '#src/release/hashed-file.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-hashed-'));
afterAll(() => rmSync(folder, { recursive: true }));

it('a file that is shorter than what was kept of it is refused, and not filled with zeros', async () => {
  const path = join(folder, 'rows');
  writeFileSync(path, 'abc');
  await expect(openHashedFile(path, 4)).rejects.toThrow('3 of the 4 bytes');
  expect(readFileSync(path, 'utf8')).toBe('abc');
  await expect(openHashedFile(join(folder, 'lost'), 4)).rejects.toThrow('0 of the 4 bytes');
  await (await openHashedFile(path, 2)).abandon();
  expect(readFileSync(path, 'utf8')).toBe('ab');
});
