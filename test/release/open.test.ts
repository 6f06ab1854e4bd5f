import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openRelease } from '#src/release/open.js';
import type { AttributeValue, FilterField } from '#src/release/release.js';
import { makeRelease } from './make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-open-'));
afterAll(() => rmSync(folder, { recursive: true }));

const FIELDS: readonly FilterField[] = [
  { name: 'organism', type: 'string' },
  { name: 'taxid', type: 'integer', isTaxonomy: true },
  { name: 'mass', type: 'number' },
  { name: 'reviewed', type: 'boolean' },
  { name: 'lineage', type: 'string_list' },
];
const TAXA = [
  { taxid: 1, parentTaxid: 1, rank: 'no rank', name: 'root' },
  { taxid: 2, parentTaxid: 1, rank: 'domain', name: 'Bacteria' },
  { taxid: 562, parentTaxid: 2, rank: 'species', name: 'Escherichia coli' },
];
const ATTRIBUTES: readonly Record<string, AttributeValue>[] = [
  {
    organism: 'Escherichia coli',
    taxid: 562,
    mass: -0.5,
    reviewed: true,
    lineage: ['Bacteria', 'Escherichia coli'],
  },
  {},
  { organism: 'Ünïcode 💡', taxid: -(2 ** 53) + 1, mass: 1e300, reviewed: false, lineage: [] },
];

/** Enough targets for three record batches, the last of them not full. */
const targets = Array.from({ length: 20_001 }, (_, index) => ({
  id: `protein-${index}`,
  sequence: 'ACDEFGHIKLMNPQRSTVWXY'.slice(index % 17, 21).repeat(1 + (index % 3)),
  attributes: ATTRIBUTES[index % 3],
}));

describe('an opened release', () => {
  it('returns every target as it was written, across record batches', async () => {
    const directory = await makeRelease(folder, { fields: FIELDS, targets, taxa: TAXA });
    const release = await openRelease(directory);
    expect(release.id).toBe(basename(directory));
    expect(release.fields).toMatchObject(FIELDS);
    expect(release.targets.count).toBe(targets.length);
    let start = 0;
    const read = targets.map((_, index) => ({
      id: release.targets.id(index),
      sequence: release.targets.sequence(index),
      attributes: release.targets.attributes(index),
    }));
    expect(read).toEqual(targets);
    const misplaced = targets.filter(({ id, sequence, attributes }, index) => {
      const isRight =
        release.targets.length(index) === sequence.length &&
        release.targets.selfScore(index) === sequence.length * 3 &&
        release.targets.attribute(index, 'organism') === attributes.organism &&
        release.targets.find(id) === index &&
        release.tokens.residueStarts[index] === start;
      start += sequence.length;
      return !isRight;
    });
    expect(misplaced).toEqual([]);
    expect(release.tokens.residueStarts[targets.length]).toBe(start);
    expect(release.targets.find('protein-20001')).toBeUndefined();
    expect(release.targets.attribute(0, 'unheard_of')).toBeUndefined();
    expect(Object.isFrozen(release)).toBe(true);
  });

  it('returns the lineage of a taxon, and none for an unknown taxon', async () => {
    const release = await openRelease(
      await makeRelease(folder, { fields: FIELDS, targets: targets.slice(0, 3), taxa: TAXA }),
    );
    expect(release.lineage(562)).toEqual([562, 2, 1]);
    expect(release.lineage(9606)).toEqual([]);
  });

  it('has its token values where the manifest says, at a multiple of 64 bytes', async () => {
    const directory = await makeRelease(folder, {
      targets: [{ id: 'a', sequence: 'MKV' }],
      token: (row, column) => row * 40 + column - 60,
    });
    const { tokens, manifest } = await openRelease(directory);
    const place = tokens.tokens as { path: string; byteOffset: number };
    expect(place.byteOffset % 64).toBe(0);
    const bytes = readFileSync(place.path);
    const values = new Int8Array(bytes.buffer, bytes.byteOffset + place.byteOffset, 3 * 32);
    expect([...values]).toEqual(
      Array.from({ length: 96 }, (_, at) => Math.floor(at / 32) * 40 + (at % 32) - 60),
    );
    expect(manifest.files.tokens.values_byte_length).toBe(96);
  });

  it('is refused where a file was cut or the folder carries another id', async () => {
    const directory = await makeRelease(folder, { targets: [{ id: 'cut', sequence: 'MKVLA' }] });
    truncateSync(join(directory, 'tokens.arrow'), 100);
    await expect(openRelease(directory)).rejects.toThrow(/tokens\.arrow should have \d+ bytes; it is 100/);
    await expect(openRelease(folder)).rejects.toThrow('manifest.json cannot be read');
  });
});
