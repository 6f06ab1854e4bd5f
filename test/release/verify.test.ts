// @module-tag fast

import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#src/random.js';
import { verifyRelease } from '#src/release/verify.js';
import { makeRelease, writeManifestFolder } from './make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-verify-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('verifying a release', () => {
  it('finds a flipped bit anywhere and names its file', async () => {
    const seed = Date.now() % 1_000_000;
    console.log(`seed ${seed}`);
    const { below } = seededRandom(seed);
    const directory = await makeRelease(folder, {
      fields: [{ name: 'gene', type: 'string' }],
      targets: [{ id: 'a', sequence: 'MKVLA', attributes: { gene: 'nhaA' } }],
      taxa: [{ taxid: 1, parentTaxid: 1, rank: 'no rank', name: 'root' }],
    });
    expect(await verifyRelease(directory)).toMatchObject({ isIntact: true });
    const files = readdirSync(directory);
    expect(files).toHaveLength(5);
    for (const file of files) {
      const intact = readFileSync(join(directory, file));
      for (let flip = 0; flip < 60; flip += 1) {
        const bytes = Buffer.from(intact);
        bytes[below(bytes.length)] ^= 1 << below(8);
        writeFileSync(join(directory, file), bytes);
        const verdict = await verifyRelease(directory);
        expect(verdict.isIntact).toBe(false);
        expect(verdict.files.filter(({ isIntact }) => !isIntact).map(({ path }) => path)).toEqual([file]);
      }
      writeFileSync(join(directory, file), intact);
    }
    expect(await verifyRelease(directory)).toMatchObject({ isIntact: true });
  });

  it('finds bytes that changed between equal kinds of white space', async () => {
    const directory = await makeRelease(folder, { targets: [{ id: 'b', sequence: 'MKV' }] });
    const path = join(directory, 'manifest.json');
    writeFileSync(path, readFileSync(path, 'utf8').replace('\n  "title"', '\n \t"title"'));
    const { files } = await verifyRelease(directory);
    expect(files[0]).toMatchObject({ path: 'manifest.json', isIntact: false });
  });

  it('finds a manifest that lacks members, or leads out of the folder, under its own id', async () => {
    const release = await makeRelease(folder, { targets: [{ id: 'd', sequence: 'MKV' }] });
    const manifest = JSON.parse(readFileSync(join(release, 'manifest.json'), 'utf8'));
    writeFileSync(join(folder, 'secret.txt'), 'secret');
    const names = { ...manifest.files.targets, path: '../secret.txt' };
    const wrong = [
      [null, 'format'],
      [{ format: 'gloaming-release/1' }, 'title'],
      [{ ...manifest, files: { ...manifest.files, names } }, 'files.names.path'],
    ] as const;
    for (const [content, member] of wrong) {
      const directory = writeManifestFolder(folder, content);
      expect(await verifyRelease(directory)).toEqual({
        id: basename(directory),
        isIntact: false,
        files: [{ path: 'manifest.json', isIntact: false, problem: `has no valid ${member}` }],
        sizeBytes: 0,
      });
    }
  });

  it('finds files that were cut, lost or added', async () => {
    const directory = await makeRelease(folder, { targets: [{ id: 'c', sequence: 'MKV' }] });
    appendFileSync(join(directory, 'tokens.arrow'), 'x');
    rmSync(join(directory, 'targets.arrow'));
    writeFileSync(join(directory, 'notes.txt'), 'hello');
    const { files } = await verifyRelease(directory);
    const problems = Object.fromEntries(files.map(({ path, problem }) => [path, problem]));
    expect(problems['tokens.arrow']).toMatch(/has \d+ bytes/);
    expect(problems['targets.arrow']).toBe('cannot be read: ENOENT');
    expect(problems['notes.txt']).toBe('is not a file of this release');
    expect(problems['attributes.arrow']).toBeUndefined();
  });
});
