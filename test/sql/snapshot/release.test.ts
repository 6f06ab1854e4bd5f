import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { snapshotRelease } from '#src/sql/snapshot/release.js';
import { makeRelease } from '../../release/make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-snapshot-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Files below the folder that this process has open. */
function openFiles(): readonly string[] {
  const descriptors = '/proc/self/fd';
  return readdirSync(descriptors).flatMap((name) => {
    try {
      const path = readlinkSync(join(descriptors, name));
      return path.startsWith(folder) ? [path] : [];
    } catch {
      // The descriptor of the listing itself is closed.
      return [];
    }
  });
}

describe.skipIf(!existsSync('/proc/self/fd'))('the Parquet file of a release', () => {
  it('leaves no file of the release open', async () => {
    const fields = [{ name: 'source', type: 'string' }] as const;
    const targets = ['a', 'b'].map((id) => ({ id, sequence: 'MKVLAW', attributes: { source: id } }));
    const directory = await makeRelease(folder, { fields, targets });
    const path = join(folder, 'release.parquet');
    await snapshotRelease({ kind: 'release', directory, fields, path });
    expect(existsSync(path)).toBe(true);
    expect(openFiles()).toEqual([]);
  });
});
