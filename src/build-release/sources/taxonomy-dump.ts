import { basename } from 'node:path';
import { Refusal } from '../../errors.js';
import type { Taxon, Taxonomy } from '../../release/taxonomy.js';
import { decompress, readLines } from '../../sequence/input-file.js';
import { readUnpackedFile } from '../../sequence/unpack.js';

/** NCBI's ids are below four million. The bound limits the memory that a damaged file can cause. */
const TAXID_MAX = 200_000_000;
const SEPARATOR = '\t|\t';

/**
 * Reads NCBI's nodes.dmp and the scientific names of names.dmp, plain or compressed.
 * Cost    9 bytes for each taxid up to the highest, and the names: about 110 MB for all of NCBI's taxonomy
 * Errors  Refusal `invalid_taxonomy` with file and line
 * Source  https://ftp.ncbi.nlm.nih.gov/pub/taxonomy/taxdump_readme.txt
 */
export async function readTaxonomyDump(nodesPath: string, namesPath: string): Promise<Taxonomy> {
  const ranks: string[] = [];
  const rankIds = new Map<string, number>();
  let parents = new Int32Array(1 << 20);
  let rankOf = new Uint8Array(1 << 20);
  await forEachRow(nodesPath, 3, (taxid, [, parent, rank], refuse) => {
    while (taxid >= parents.length) {
      parents = grown(parents, new Int32Array(2 * parents.length));
      rankOf = grown(rankOf, new Uint8Array(2 * rankOf.length));
    }
    if (parents[taxid] !== 0) throw refuse(`taxid ${taxid} has more than one row.`);
    parents[taxid] = readTaxid(parent, refuse);
    let rankId = rankIds.get(rank);
    if (rankId === undefined) {
      rankId = ranks.push(rank) - 1;
      if (rankId > 255) throw refuse('there are more than 256 ranks.');
      rankIds.set(rank, rankId);
    }
    rankOf[taxid] = rankId;
  });
  const fault = faultIn(parents);
  if (fault !== undefined) await refuseTaxon(nodesPath, fault);
  const nameOf = await readNames(namesPath, parents.length);
  return {
    get(taxid): Taxon | undefined {
      const parentTaxid = parents[taxid];
      // Ids start at 1, so 0 is a taxid without a row; undefined is a taxid beyond the highest.
      if (!parentTaxid) return undefined;
      return { taxid, parentTaxid, rank: ranks[rankOf[taxid]], name: nameOf(taxid) };
    },
  };
}

interface TaxonomyFault {
  readonly taxid: number;
  readonly problem: string;
}

/**
 * Returns the first taxon whose ancestors do not end at a root, which is its own parent: an ancestor has no row, or the
 * taxon is its own ancestor.
 * Cost    two passes over the taxa, because a walk ends at a taxon that is known to reach a root
 */
function faultIn(parents: Int32Array): TaxonomyFault | undefined {
  const walkOf = new Int32Array(parents.length);
  for (let first = 1; first < parents.length; first += 1) {
    for (let taxid = first; parents[taxid] !== 0 && walkOf[taxid] === 0; taxid = parents[taxid]) {
      walkOf[taxid] = first;
      const parent = parents[taxid];
      if (parent === taxid) break;
      if (!parents[parent]) return { taxid, problem: `its parent, taxid ${parent}, has no row.` };
      if (walkOf[parent] === first) return { taxid, problem: 'it is its own ancestor.' };
    }
  }
  return undefined;
}

/** Reads the file again to find the line of a taxon, and throws its refusal. */
async function refuseTaxon(nodesPath: string, { taxid: faulty, problem }: TaxonomyFault): Promise<void> {
  await forEachRow(nodesPath, 3, (taxid, _cells, refuse) => {
    if (taxid === faulty) throw refuse(`taxid ${taxid} has no path to a root: ${problem}`);
  });
}

/** Scientific names by taxid, in one buffer. A taxon without a name is named by its id. */
async function readNames(path: string, taxidEnd: number): Promise<(taxid: number) => string> {
  const starts = new Uint32Array(taxidEnd);
  let text = Buffer.alloc(1 << 20);
  // The first byte of the buffer is unused, so an offset of 0 means that there is no name.
  let used = 1;
  await forEachRow(path, 4, (taxid, [, name, , kind], refuse) => {
    if (kind !== 'scientific name' || taxid >= taxidEnd) return;
    const bytes = Buffer.byteLength(name);
    if (bytes > 0xffff) throw refuse('the name is longer than 65,535 bytes.');
    while (used + bytes + 2 > text.length) text = grown(text, Buffer.alloc(2 * text.length));
    starts[taxid] = used;
    text.writeUInt16LE(bytes, used);
    text.write(name, used + 2);
    used += bytes + 2;
  });
  return (taxid) => {
    const start = starts[taxid];
    if (start === 0) return `taxid ${taxid}`;
    return text.toString('utf8', start + 2, start + 2 + text.readUInt16LE(start));
  };
}

type Refuse = (problem: string) => Refusal;

async function forEachRow(
  path: string,
  leastCells: number,
  visit: (taxid: number, cells: readonly string[], refuse: Refuse) => void,
): Promise<void> {
  let line = 0;
  const refuse: Refuse = (problem) =>
    new Refusal('invalid_taxonomy', `${basename(path)}, line ${line}: ${problem}`, { file: path, line });
  for await (const block of readLines(
    decompress(readUnpackedFile(path), () => `${path}, line ${line}`),
    path,
  )) {
    for (const text of block) {
      line += 1;
      if (text === '') continue;
      const cells = text.replace(/\t\|$/, '').split(SEPARATOR);
      if (cells.length < leastCells)
        throw refuse('columns separated by "<tab>|<tab>" are expected, as in NCBI dumps.');
      visit(readTaxid(cells[0], refuse), cells, refuse);
    }
  }
}

function readTaxid(cell: string, refuse: Refuse): number {
  const taxid = Number(cell);
  if (/^\d+$/.test(cell) && taxid >= 1 && taxid <= TAXID_MAX) return taxid;
  throw refuse(`${JSON.stringify(cell.slice(0, 20))} is not a taxid.`);
}

function grown<Bytes extends Int32Array | Uint8Array>(old: Bytes, larger: Bytes): Bytes {
  larger.set(old);
  return larger;
}
