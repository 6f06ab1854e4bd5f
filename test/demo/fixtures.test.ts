import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { buildDemoIn, copyDemoRelease } from '../tools/fixtures.js';

/* Releases that tests share are those that each test would build. */

const folder = mkdtempSync(join(tmpdir(), 'gloaming-fixtures-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Bytes of all files below a folder, by path. */
function contents(root: string): Record<string, string> {
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  const paths = files.map((each) => join(each.parentPath, each.name)).sort();
  return Object.fromEntries(
    paths.map((path) => [path.slice(root.length), readFileSync(path).toString('base64')]),
  );
}

it('a demo release that tests share has the bytes of one that is built anew', async () => {
  const [shared, anew] = [join(folder, 'shared'), join(folder, 'anew')];
  const { id, manifest } = await copyDemoRelease(shared, 11, 60);
  await buildDemoIn(anew, 11, 60);
  expect(manifest.counts.targets).toBe(60);
  expect(Object.keys(contents(shared)).some((path) => path.includes(id))).toBe(true);
  expect(contents(shared)).toEqual(contents(anew));
});

it('a change to one copy leaves the next copy as it was', async () => {
  const [first, second] = [join(folder, 'first'), join(folder, 'second')];
  await copyDemoRelease(first, 11, 60);
  const before = contents(first);
  rmSync(join(first, 'demo'), { recursive: true });
  await copyDemoRelease(second, 11, 60);
  expect(contents(second)).toEqual(before);
});
