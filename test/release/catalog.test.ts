// @module-tag fast

import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { besideDefaultMark, checkSlug, releaseDirectory, scanReleases } from '#src/release/catalog.js';
import { makeRelease } from './make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-catalog-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the folders of releases', () => {
  it('are found by slug and id, apart from damaged, unfinished and removed ones', async () => {
    expect(await scanReleases(join(folder, 'nowhere'))).toEqual({
      releases: [],
      damaged: [],
      unfinished: [],
      removed: [],
      besideDefault: [],
    });
    mkdirSync(join(folder, 'db'));
    const made = await makeRelease(join(folder, 'db'), { targets: [{ id: 'a', sequence: 'MKV' }] });
    const id = basename(made);
    const broken = join(folder, 'db', `dbr_${'0'.repeat(64)}`);
    mkdirSync(broken);
    writeFileSync(join(broken, 'manifest.json'), '{"format":"another/2"}');
    mkdirSync(join(folder, 'db', '.building-1'));
    mkdirSync(join(folder, 'db', '.removed-dbr_1'));
    writeFileSync(besideDefaultMark(folder, 'db', id), '');
    writeFileSync(join(folder, 'db', '.beside-default-dbr_1'), '');
    mkdirSync(join(folder, 'encoders', id), { recursive: true });
    mkdirSync(join(folder, 'Not a slug', id), { recursive: true });
    const releases = await scanReleases(folder);
    expect(releases.releases).toEqual([
      expect.objectContaining({ slug: 'db', id, directory: releaseDirectory(folder, 'db', id) }),
    ]);
    expect(releases.damaged).toEqual([
      expect.objectContaining({ id: basename(broken), problem: expect.stringContaining('another/2') }),
    ]);
    expect(releases.unfinished).toEqual([{ slug: 'db', directory: join(folder, 'db', '.building-1') }]);
    expect(releases.removed).toEqual([join(folder, 'db', '.removed-dbr_1')]);
    expect(releases.besideDefault).toEqual([{ slug: 'db', id }]);
  });

  it('may be symbolic links; links that lead nowhere or in a circle count as absent', async () => {
    const [indexes, otherDisk] = [join(folder, 'links'), join(folder, 'other-disk')];
    mkdirSync(join(indexes, 'plain'), { recursive: true });
    mkdirSync(join(otherDisk, 'whole'), { recursive: true });
    const targets = [{ id: 'a', sequence: 'MKV' }];
    const id = basename(await makeRelease(join(otherDisk, 'whole'), { targets }));
    symlinkSync(join(otherDisk, 'whole'), join(indexes, 'linked'));
    symlinkSync(join(otherDisk, 'whole', id), join(indexes, 'plain', id));
    symlinkSync(join(otherDisk, 'not-mounted'), join(indexes, 'lost'));
    symlinkSync(join(indexes, 'circle'), join(indexes, 'circle'));
    const { releases, damaged } = await scanReleases(indexes);
    expect(releases.map(({ slug, directory }) => [slug, directory])).toEqual([
      ['linked', releaseDirectory(indexes, 'linked', id)],
      ['plain', releaseDirectory(indexes, 'plain', id)],
    ]);
    expect(damaged).toEqual([]);
  });

  it('hold a release only under its own id', async () => {
    const made = await makeRelease(folder, { targets: [{ id: 'moved', sequence: 'MKV' }] });
    const other = `dbr_${'1'.repeat(64)}`;
    mkdirSync(join(folder, 'moved'));
    renameSync(made, join(folder, 'moved', other));
    const { damaged } = await scanReleases(folder);
    expect(damaged.find(({ slug }) => slug === 'moved')?.problem).toContain('was changed');
  });
});

describe('a slug', () => {
  it('is lower case, short, and no id, path or other folder', () => {
    for (const slug of ['demo', 'swiss-prot', 'uniref50_2026.1', '7', 'a'.repeat(64)])
      expect(checkSlug(slug)).toBe(slug);
    for (const slug of [
      '',
      'Demo',
      '.hidden',
      '-x',
      'a/b',
      '..',
      'encoders',
      'db_x',
      'dbr_x',
      'a b',
      'é',
      'a'.repeat(65),
    ]) {
      expect(() => checkSlug(slug)).toThrow('cannot name a database');
    }
  });
});
