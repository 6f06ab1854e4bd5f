import type { AttributeTable } from './attribute-table.js';
import { createKeyedRows } from './keyed-rows.js';
import { tableLines } from './table-lines.js';

/** Taxids are below four million today. */
const TAXID = /^\d{1,9}$/;

/**
 * Reads NCBI's prot.accession2taxid or prot.accession2taxid.FULL, of which only the rows of these proteins are kept:
 * all of them are more than a billion. Ids match accessions with their version and without it.
 * Cost    one pass over the ids and one over the file; 32 to 64 bytes of memory a protein, and two scratch files
 * Errors  Refusal `invalid_metadata` with file and line
 * Source  https://ftp.ncbi.nlm.nih.gov/pub/taxonomy/accession2taxid/README
 */
export async function readAccessionTaxids(
  path: string,
  ids: AsyncIterable<string>,
  scratch: { readonly wanted: string; readonly found: string },
): Promise<AttributeTable> {
  const wanted = createKeyedRows(scratch.wanted);
  const found = createKeyedRows(scratch.found);
  try {
    for await (const id of ids) wanted.add(id, []);
    for await (const [accession, taxid] of taxidRows(path)) {
      for (const id of new Set([accession, accession.replace(/\.\d+$/, '')])) {
        if (wanted.find(id).length > 0) found.add(id, [taxid]);
      }
    }
  } finally {
    wanted.close();
  }
  return {
    name: 'accession2taxid',
    fields: [{ name: 'taxid', type: 'integer' }],
    fillsGaps: true,
    find(id) {
      const [row] = found.find(id);
      return row === undefined ? undefined : { taxid: Number(row[0]) };
    },
    close: () => found.close(),
  };
}

/** Accession with its version, and taxid; 0 means that NCBI knows none. */
async function* taxidRows(path: string): AsyncGenerator<readonly [string, string]> {
  let columns: { readonly accession: number; readonly taxid: number } | undefined;
  for await (const { text, refuse } of tableLines(path)) {
    const cells = text.split('\t', 4);
    if (columns === undefined) {
      columns = { accession: cells.indexOf('accession.version'), taxid: cells.indexOf('taxid') };
      if (columns.accession >= 0 && columns.taxid >= 0) continue;
      throw refuse('a header row with the columns accession.version and taxid is expected');
    }
    const [accession, taxid] = [cells[columns.accession], cells[columns.taxid]];
    if (accession === undefined || accession === '' || taxid === undefined || !TAXID.test(taxid)) {
      throw refuse('an accession and a taxid, separated by tabs, are expected');
    }
    if (taxid !== '0') yield [accession, taxid];
  }
}
