// @module-tag fast

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, describe, expect, it } from 'vitest';
import { MANIFEST_FILE, RELEASE_FORMAT, tokensFrame } from '#src/release/format.js';
import { openRelease } from '#src/release/open.js';
import { makeRelease } from './make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-format-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('the files of a release', () => {
  it('are read by any Arrow reader', async () => {
    const directory = await makeRelease(folder, {
      fields: [
        { name: 'gene', type: 'string' },
        { name: 'taxid', type: 'integer' },
        { name: 'tags', type: 'string_list' },
        { name: 'kept', type: 'boolean' },
      ],
      targets: [
        { id: 'a', sequence: 'MKV', attributes: { gene: 'nhaA', taxid: 562, tags: ['x', 'y'], kept: true } },
        { id: 'b', sequence: 'LA' },
      ],
      taxa: [{ taxid: 1, parentTaxid: 1, rank: 'no rank', name: 'root' }],
      token: (row, column) => row + column,
    });
    const table = (file: string) => tableFromIPC(readFileSync(join(directory, file)));
    const rows = (file: string) =>
      table(file)
        .toArray()
        .map((row) => row.toJSON());
    expect(rows('targets.arrow')).toEqual([
      { id: 'a', sequence: 'MKV', length: 3, self_score: 9 },
      { id: 'b', sequence: 'LA', length: 2, self_score: 6 },
    ]);
    const [first, second] = rows('attributes.arrow');
    expect({ ...first, tags: [...first.tags] }).toEqual({
      gene: 'nhaA',
      taxid: 562n,
      tags: ['x', 'y'],
      kept: true,
    });
    expect(second).toEqual({ gene: null, taxid: null, tags: null, kept: null });
    expect(rows('taxonomy.arrow')).toEqual([{ taxid: 1, parent_taxid: 1, rank: 'no rank', name: 'root' }]);
    const tokens = table('tokens.arrow');
    expect(tokens.numRows).toBe(5);
    expect(tokens.batches).toHaveLength(1);
    expect([...tokens.getChild('token')!.get(4)]).toEqual(
      Array.from({ length: 32 }, (_, column) => 4 + column),
    );
  });

  it('state lengths beyond 4 GiB in full and keep the values aligned', () => {
    const residues = 4_294_967_295;
    const { start, valuesByteLength, end } = tokensFrame(256, residues);
    expect(valuesByteLength).toBe(256 * residues);
    expect(start.length % 64).toBe(0);
    const exact = Buffer.alloc(8);
    exact.writeBigInt64LE(256n * 4_294_967_295n);
    expect(start.includes(exact)).toBe(true);
    expect(end.subarray(-6).toString()).toBe('ARROW1');
  });

  it('have a tokens frame that depends on the counts alone', () => {
    const lengths = [1, 2, 255, 65_536, 2 ** 31, 4_294_967_295].map(
      (count) => tokensFrame(64, count).start.length,
    );
    expect(new Set(lengths).size).toBe(1);
    expect(tokensFrame(64, 1).end).toEqual(tokensFrame(64, 1).end);
  });
});

describe('the format of a release', () => {
  it('that is newer is refused in one sentence', async () => {
    const directory = await makeRelease(folder, { targets: [{ id: 'a', sequence: 'MKV' }] });
    const path = join(directory, MANIFEST_FILE);
    writeFileSync(path, readFileSync(path, 'utf8').replace(RELEASE_FORMAT, 'gloaming-release/99'));
    await expect(openRelease(directory)).rejects.toThrow(
      `${path} has format "gloaming-release/99"; this version reads ${RELEASE_FORMAT}.`,
    );
  });
});
