import { parseFastaHeader } from '../../../sequence/fasta-header.js';
import type { RefuseLine } from './table-lines.js';

/** A domain of a protein, as a search for it has found it. */
export interface Domain {
  readonly protein: string;
  /** Accession without version, or the name of a model that has none. */
  readonly signature: string;
  /** From 1, both inclusive. */
  readonly first: number;
  readonly last: number;
  /** Entry of InterPro, or empty. */
  readonly interpro: string;
  readonly go: readonly string[];
}

/** A row's domain; undefined where it tells of none. Errors  what `refuse` makes of the problem */
export type ParseDomain = (row: string, refuse: RefuseLine) => Domain | undefined;

/** HMMER lists domains down to E-values of 10; these are the ones that it would put into an alignment by itself. */
const DOMAIN_MAX_EXPECTED = 0.001;
const DOMTBLOUT_COLUMNS = 22;
const INTERPROSCAN_MIN_COLUMNS = 11;

/**
 * A row of InterProScan's TSV: protein, MD5, length, analysis, signature, its description, first, last, score, status,
 * date, and where they were asked for InterPro entry, its description, GO terms and pathways; "-" where there is none.
 * Source  https://interproscan-docs.readthedocs.io/en/latest/OutputFormats.html
 */
export const parseInterproscan: ParseDomain = (row, refuse) => {
  const cells = row.split('\t').map((cell) => (cell.trim() === '-' ? '' : cell.trim()));
  if (cells.length < INTERPROSCAN_MIN_COLUMNS) {
    throw refuse(`${INTERPROSCAN_MIN_COLUMNS} columns or more are expected, as in a TSV of InterProScan`);
  }
  const [protein, , , , signature, , first, last, , , , interpro = '', , go = ''] = cells;
  return {
    ...placed(protein, signature, first, last, refuse),
    interpro,
    go: go.match(/GO:\d{7}/g) ?? [],
  };
};

/**
 * A row of --domtblout: 22 columns separated by blanks, and a description. The domain is where its envelope is.
 * Source  HMMER User's Guide, "Tabular output formats"
 */
export function parseDomtblout(isByDomain: boolean): ParseDomain {
  return (row, refuse) => {
    if (row.startsWith('#')) return undefined;
    const cells = row.trim().split(/\s+/, DOMTBLOUT_COLUMNS);
    if (cells.length < DOMTBLOUT_COLUMNS) {
      throw refuse(`${DOMTBLOUT_COLUMNS} columns are expected, as in a --domtblout of HMMER`);
    }
    const expected = Number(cells[12]);
    if (Number.isNaN(expected))
      throw refuse(`the i-Evalue ${JSON.stringify(cells[12].slice(0, 20))} is no number`);
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
  // Both programs name a protein by the first word of its header, and a release by the accession that this holds.
  return { protein: parseFastaHeader(protein).id, signature, first, last };
}
