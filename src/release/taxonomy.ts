import { join } from 'node:path';
import { encodeInt32, encodeStrings } from './column-encode.js';
import { int32Column, textColumn } from './columns.js';
import { BATCH_ROWS, TAXONOMY_FILE, TAXONOMY_SCHEMA } from './format.js';
import type { FileEntry } from './release.js';
import { createTableFile, readTableFile } from './table-file.js';

export interface Taxon {
  readonly taxid: number;
  /** The root is its own parent. */
  readonly parentTaxid: number;
  readonly rank: string;
  readonly name: string;
}

/** A tree of taxa, or the part of it that a release needs. */
export interface Taxonomy {
  get(taxid: number): Taxon | undefined;
}

const ROOT_TAXID = 1;
/** The deepest lineage of the NCBI taxonomy has about 45 taxa; the bound ends a walk along a cycle. */
const LINEAGE_MAX_TAXA = 256;

/** Taxa from this one to the root, itself first; empty where the taxonomy does not know it. */
export function lineageOf(taxonomy: Taxonomy, taxid: number): readonly Taxon[] {
  const lineage: Taxon[] = [];
  for (let taxon = taxonomy.get(taxid); taxon !== undefined; taxon = taxonomy.get(taxon.parentTaxid)) {
    lineage.push(taxon);
    if (taxon.parentTaxid === taxon.taxid || lineage.length === LINEAGE_MAX_TAXA) break;
  }
  return lineage;
}

/** What a protein of this taxon has as its lineage: scientific names from below the root to the taxon's own. */
export function lineageNames(taxonomy: Taxonomy, taxid: number): readonly string[] {
  return lineageOf(taxonomy, taxid)
    .filter((taxon) => taxon.taxid !== ROOT_TAXID)
    .map(({ name }) => name)
    .reverse();
}

/** Writes the taxa in ascending order of taxid, so that equal sets of them are equal files. */
export async function writeTaxonomy(directory: string, unordered: Iterable<Taxon>): Promise<FileEntry> {
  const taxa = [...unordered].sort((a, b) => a.taxid - b.taxid);
  const file = await createTableFile(join(directory, TAXONOMY_FILE), TAXONOMY_SCHEMA);
  try {
    for (let start = 0; start < taxa.length; start += BATCH_ROWS) {
      const rows = taxa.slice(start, start + BATCH_ROWS);
      await file.writeBatch(rows.length, [
        encodeInt32(rows.map(({ taxid }) => taxid)),
        encodeInt32(rows.map(({ parentTaxid }) => parentTaxid)),
        encodeStrings(rows.map(({ rank }) => rank)),
        encodeStrings(rows.map(({ name }) => name)),
      ]);
    }
    return await file.finish();
  } catch (cause) {
    await file.abandon();
    throw cause;
  }
}

export async function readTaxonomy(directory: string): Promise<ReadonlyMap<number, Taxon>> {
  const columns = await readTableFile(join(directory, TAXONOMY_FILE));
  const part = (name: string) => columns.get(name) ?? [];
  const taxids = int32Column(part('taxid'));
  const parents = int32Column(part('parent_taxid'));
  const ranks = textColumn(part('rank'), 'utf8');
  const names = textColumn(part('name'), 'utf8');
  const count = part('taxid').reduce((sum, { length }) => sum + length, 0);
  const taxa = Array.from({ length: count }, (_, row): Taxon => {
    return { taxid: taxids(row), parentTaxid: parents(row), rank: ranks(row), name: names(row) };
  });
  return new Map(taxa.map((taxon) => [taxon.taxid, taxon]));
}
