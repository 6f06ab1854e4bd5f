import type { AttributeTable } from './attribute-table.js';
import { createKeyedRows } from './keyed-rows.js';
import { tableLines } from './table-lines.js';

/** NCBI's taxids are below four million. */
const TAXID = /^\d{1,9}$/;

/**
 * Reads NCBI's prot.accession2taxid or prot.accession2taxid.FULL. Stores only the rows of the given proteins, because
 * the file has more than a billion rows. Ids match accessions with or without version.
 * Errors  Refusal `file_not_found`; Refusal `invalid_metadata` with file and line; errors of the file system
 * Cost    one pass over the ids and one over the file; 32 to 64 bytes of memory per protein, and two scratch files
 * Source  https://ftp.ncbi.nlm.nih.gov/pub/taxonomy/accession2taxid/README
 */
export async function readAccessionTaxids(
  path: string,
  ids: AsyncIterable<string>,
  scratch: { readonly accessions: string; readonly taxids: string },
): Promise<AttributeTable> {
  const accessions = createKeyedRows(scratch.accessions);
  const taxids = createKeyedRows(scratch.taxids);
  try {
    for await (const id of ids) accessions.add(id, []);
    for await (const [accession, taxid] of taxidRows(path)) {
      for (const id of new Set([accession, accession.replace(/\.\d+$/, '')])) {
        if (accessions.find(id).length > 0) taxids.add(id, [taxid]);
      }
    }
  } finally {
    accessions.close();
  }
  return {
    name: 'accession2taxid',
    fields: [{ name: 'taxid', type: 'integer' }],
    fillsGaps: true,
    find(id) {
      const [row] = taxids.find(id);
      return row === undefined ? undefined : { taxid: Number(row[0]) };
    },
    close: () => taxids.close(),
  };
}

/** Returns accession with version, and taxid; 0 is a protein without a taxid. */
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
