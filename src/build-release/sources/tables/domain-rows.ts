import { parseFastaHeader } from '../../../sequence/fasta-header.js';
import type { RefuseLine } from './table-lines.js';

/** A domain that a search program found in a protein. */
export interface Domain {
  readonly protein: string;
  /** Accession of the model without version, or its name if it has no accession. */
  readonly signature: string;
  /** First and last residue; one-based, inclusive. */
  readonly first: number;
  readonly last: number;
  /** InterPro entry, or an empty string. */
  readonly interpro: string;
  readonly go: readonly string[];
}

/** Returns the domain of a row; undefined if it has none. Errors  those of `refuse` */
export type ParseDomain = (row: string, refuse: RefuseLine) => Domain | undefined;

/** HMMER lists domains up to E = 10. This is its own threshold for including a domain in an alignment. */
const DOMAIN_MAX_EXPECTED = 0.001;
const DOMTBLOUT_COLUMNS = 22;
const INTERPROSCAN_MIN_COLUMNS = 11;

/**
 * Parses a row of InterProScan's TSV: protein, MD5, length, analysis, signature, its description, first, last, score,
 * status, date, and optionally InterPro entry, its description, GO terms and pathways. "-" is a missing value.
 * Source  https://interproscan-docs.readthedocs.io/en/latest/OutputFormats.html
 */
export const parseInterproscan: ParseDomain = (row, refuse) => {
  const cells = row.split('\t').map((cell) => (cell.trim() === '-' ? '' : cell.trim()));
  if (cells.length < INTERPROSCAN_MIN_COLUMNS) {
    throw refuse(`a TSV of InterProScan has at least ${INTERPROSCAN_MIN_COLUMNS} columns`);
  }
  const [protein, , , , signature, , first, last, , , , interpro = '', , go = ''] = cells;
  return {
    ...placed(protein, signature, first, last, refuse),
    interpro,
    go: go.match(/GO:\d{7}/g) ?? [],
  };
};

/**
 * Returns a parser for rows of --domtblout: 22 columns separated by blanks, and a description. A domain has the range
 * of its envelope.
 * Source  HMMER User's Guide, "Tabular output formats"
 */
export function parseDomtblout(isByDomain: boolean): ParseDomain {
  return (row, refuse) => {
    if (row.startsWith('#')) return undefined;
    const cells = row.trim().split(/\s+/, DOMTBLOUT_COLUMNS);
    if (cells.length < DOMTBLOUT_COLUMNS) {
      throw refuse(`a --domtblout of HMMER has ${DOMTBLOUT_COLUMNS} columns`);
    }
    const expected = Number(cells[12]);
    if (Number.isNaN(expected))
      throw refuse(`the i-Evalue ${JSON.stringify(cells[12].slice(0, 20))} is not a number`);
    if (expected > DOMAIN_MAX_EXPECTED) return undefined;
    const [target, query] = [cells.slice(0, 2), cells.slice(3, 5)];
    const [[protein], [name, accession]] = isByDomain ? [target, query] : [query, target];
    const signature = accession === '-' ? name : accession.replace(/\.\d+$/, '');
    return { ...placed(protein, signature, cells[19], cells[20], refuse), interpro: '', go: [] };
  };
}

function placed(
  protein: string,
  signature: string,
  start: string,
  end: string,
  refuse: RefuseLine,
): Pick<Domain, 'protein' | 'signature' | 'first' | 'last'> {
  const [first, last] = [start, end].map((cell) => (/^\d{1,9}$/.test(cell) ? Number(cell) : Number.NaN));
  if (protein === '' || signature === '' || !(first >= 1 && first <= last)) {
    throw refuse('a protein, a signature and the first and last residue of a domain are expected');
  }
  // The programs name a protein by the first word of its header. A release uses the accession within that word.
  return { protein: parseFastaHeader(protein).id, signature, first, last };
}
