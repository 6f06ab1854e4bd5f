// @module-tag fast

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { lineageOf, readTaxonomy, writeTaxonomy, type Taxon } from '#src/release/taxonomy.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-taxonomy-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a taxonomy', () => {
  it('comes back from its file, more taxa than a record batch holds included', async () => {
    const taxa = Array.from({ length: 10_000 }, (_, at): Taxon => {
      return {
        taxid: at + 1,
        parentTaxid: Math.max(1, at),
        rank: at === 0 ? 'no rank' : 'clade',
        name: `Täxon ${at}`,
      };
    });
    await writeTaxonomy(folder, taxa.toReversed());
    const read = await readTaxonomy(folder);
    expect(taxa.map(({ taxid }) => read.get(taxid))).toEqual(taxa);
    expect(read.get(10_001)).toBeUndefined();
  });

  it('gives a lineage from the taxon to the root, and ends where parents go in a circle', () => {
    const taxon = (taxid: number, parentTaxid: number): Taxon => ({ taxid, parentTaxid, rank: '', name: '' });
    const tree = new Map(
      [taxon(1, 1), taxon(2, 1), taxon(3, 2), taxon(8, 9), taxon(9, 8), taxon(5, 77)].map((t) => [
        t.taxid,
        t,
      ]),
    );
    const taxids = (taxid: number) => lineageOf(tree, taxid).map((t) => t.taxid);
    expect(taxids(3)).toEqual([3, 2, 1]);
    expect(taxids(1)).toEqual([1]);
    expect(taxids(4)).toEqual([]);
    expect(taxids(5)).toEqual([5]);
    expect(taxids(8).length).toBeLessThanOrEqual(256);
  });
});
