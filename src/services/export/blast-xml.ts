import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { AlignedRow } from './aligned-row.js';
import { eValueText, idText } from './fields.js';
import { RowEncoder, splitAlignments, type ExportedSearch, type ExportQuery } from './rows.js';

/**
 * BLAST's XML: an iteration for each query, a hit for each aligned candidate with an HSP for each of its alignments.
 * Source  NCBI_BlastOutput.dtd; members without a meaning here (matrix, gap costs, λ, κ, H) have neutral values
 */
export class BlastXmlEncoder extends RowEncoder {
  readonly #search: ExportedSearch;
  #queryCount = 0;

  constructor(search: ExportedSearch) {
    super();
    this.#search = search;
  }

  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array {
    const search = this.#search;
    const hits = candidates.flatMap((candidate): readonly (readonly AlignedRow[])[] => {
      const rows = splitAlignments(candidate).map((split) => AlignedRow.of({ query, search, ...split }));
      const aligned = rows.filter((row) => row !== undefined);
      return aligned.length === 0 ? [] : [aligned];
    });
    const start = this.#queryCount === 0 ? headOf(search, query) : '';
    this.#queryCount += 1;
    this.count(hits.flat());
    return Buffer.from(start + iterationOf(query, this.#queryCount, hits, search));
  }

  end(): Uint8Array {
    const start = this.#queryCount === 0 ? headOf(this.#search, { index: 0, id: '', sequence: '' }) : '';
    return Buffer.from(`${start}</BlastOutput_iterations>\n</BlastOutput>\n`);
  }
}

function headOf({ database }: ExportedSearch, query: ExportQuery): string {
  return `<?xml version="1.0"?>
<!DOCTYPE BlastOutput PUBLIC "-//NCBI//NCBI BlastOutput/EN" "http://www.ncbi.nlm.nih.gov/dtd/NCBI_BlastOutput.dtd">
<BlastOutput>
${element('BlastOutput_program', 'blastp')}
${element('BlastOutput_version', 'Gloaming 0.1.0')}
${element('BlastOutput_reference', 'Gloaming, exact late-interaction search of proteins')}
${element('BlastOutput_db', database)}
${element('BlastOutput_query-ID', 'Query_1')}
${element('BlastOutput_query-def', idText(query.id))}
${element('BlastOutput_query-len', lengthOf(query))}
<BlastOutput_param>
<Parameters>
${element('Parameters_matrix', 'none')}
${element('Parameters_expect', 0)}
${element('Parameters_gap-open', 0)}
${element('Parameters_gap-extend', 0)}
${element('Parameters_filter', 'F')}
</Parameters>
</BlastOutput_param>
<BlastOutput_iterations>
`;
}

function iterationOf(
  query: ExportQuery,
  number: number,
  hits: readonly (readonly AlignedRow[])[],
  { targetCount, residueCount }: ExportedSearch,
): string {
  return `<Iteration>
${element('Iteration_iter-num', number)}
${element('Iteration_query-ID', `Query_${number}`)}
${element('Iteration_query-def', idText(query.id))}
${element('Iteration_query-len', lengthOf(query))}
<Iteration_hits>
${hits.map((rows, at) => hitOf(rows, at + 1)).join('')}</Iteration_hits>
<Iteration_stat>
<Statistics>
${element('Statistics_db-num', targetCount)}
${element('Statistics_db-len', residueCount)}
${element('Statistics_hsp-len', 0)}
${element('Statistics_eff-space', lengthOf(query) * residueCount)}
${element('Statistics_kappa', 0)}
${element('Statistics_lambda', 0)}
${element('Statistics_entropy', 0)}
</Statistics>
</Iteration_stat>
${hits.length === 0 ? `${element('Iteration_message', 'No hits found')}\n` : ''}</Iteration>
`;
}

function hitOf(rows: readonly AlignedRow[], number: number): string {
  const [{ candidate, alignment, targetTitle }] = rows;
  const id = idText(candidate.target.id);
  return `<Hit>
${element('Hit_num', number)}
${element('Hit_id', id)}
${element('Hit_def', targetTitle || id)}
${element('Hit_accession', id)}
${element('Hit_len', alignment.target_length)}
<Hit_hsps>
${rows.map((row, at) => hspOf(row, at + 1)).join('')}</Hit_hsps>
</Hit>
`;
}

function hspOf(row: AlignedRow, number: number): string {
  const { candidate, alignment, lines } = row;
  return `<Hsp>
${element('Hsp_num', number)}
${element('Hsp_bit-score', row.bitScore.toFixed(3))}
${element('Hsp_score', candidate.measurements.affine.raw_score)}
${element('Hsp_evalue', eValueText(row.eValue, 5))}
${element('Hsp_query-from', alignment.query_start + 1)}
${element('Hsp_query-to', alignment.query_end)}
${element('Hsp_hit-from', alignment.target_start + 1)}
${element('Hsp_hit-to', alignment.target_end)}
${element('Hsp_query-frame', 0)}
${element('Hsp_hit-frame', 0)}
${element('Hsp_identity', alignment.identical_residue_count)}
${element('Hsp_positive', row.positiveCount)}
${element('Hsp_gaps', alignment.gap_residue_count)}
${element('Hsp_align-len', row.columnCount)}
${element('Hsp_qseq', lines.query)}
${element('Hsp_hseq', lines.target)}
${element('Hsp_midline', lines.middle)}
</Hsp>
`;
}

function lengthOf({ sequence = '' }: ExportQuery): number {
  return sequence.length;
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** Characters that XML 1.0 cannot hold, even escaped. */
// eslint-disable-next-line no-control-regex -- these are what is looked for
const NOT_XML = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

function element(name: string, value: string | number): string {
  return `<${name}>${xmlText(String(value))}</${name}>`;
}

/** Escapes a text for XML. Characters that XML cannot hold become blanks. */
export function xmlText(text: string): string {
  return text.replaceAll(NOT_XML, ' ').replaceAll(/[&<>"]/g, (letter) => ESCAPES[letter]);
}
