// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openRelease } from '#src/release/open.js';
import type { Release } from '#src/release/release.js';
import { AttributeValues } from '#src/services/console/values.js';
import { makeRelease } from '../../release/make-release.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-values-'));
afterAll(() => rmSync(folder, { recursive: true }));

const taxon = (taxid: number, parentTaxid: number, name: string) => ({
  taxid,
  parentTaxid,
  rank: 'no rank',
  name,
});
const TAXA = [
  taxon(1, 1, 'root'),
  taxon(2, 1, 'Bacteria'),
  taxon(562, 2, 'Escherichia coli'),
  taxon(10239, 1, 'Viruses'),
  taxon(2697049, 10239, '2019-nCoV'),
  taxon(30, 1, 'Bacillus'),
  taxon(31, 2, 'Bacillus'),
];

let release: Release;
const values = new AttributeValues();
beforeAll(async () => {
  const directory = await makeRelease(folder, {
    fields: [{ name: 'taxid', type: 'integer', isTaxonomy: true }],
    taxa: TAXA,
    targets: [562, 562, 2697049, 30, 31, 7].map((taxid, index) => ({
      id: `p${index}`,
      sequence: 'ACDEFGHIKL',
      attributes: { taxid },
    })),
  });
  release = await openRelease(directory);
});

describe('values of taxa', () => {
  it('are named in the form of filters, with the proteins on and below them', async () => {
    expect(await values.find(release, 'taxid', 'ba', true)).toEqual([
      { value: 'Bacteria', count: 3 },
      { value: '30', name: 'Bacillus', count: 1 },
      { value: '31', name: 'Bacillus', count: 1 },
    ]);
    expect(await values.find(release, 'taxid', 'ncov', true)).toEqual([
      { value: '2697049', name: '2019-nCoV', count: 1 },
    ]);
    expect((await values.find(release, 'taxid', '', true))[0]).toEqual({ value: 'root', count: 5 });
  });

  it('are numbers for an exact taxid', async () => {
    expect((await values.find(release, 'taxid', '562', false))[0]).toEqual({ value: '562', count: 2 });
    expect(await values.find(release, 'taxid', 'Bacteria', false)).toEqual([]);
    expect(await values.find(release, 'colour', '', true)).toEqual([]);
  });
});
