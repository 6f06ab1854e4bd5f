import { cigarRuns } from '../../sequence/cigar.js';
import type { AlignedRow } from './aligned-row.js';

/** A column of a table in BLAST's or MMseqs2's form. */
export interface Field {
  readonly text: (row: AlignedRow) => string | number;
  /** Needs the sequence of the query. */
  readonly needsQuery?: true;
  /** Name in the comment lines of -outfmt 7. */
  readonly label?: string;
}

type Fields = Readonly<Record<string, Field>>;

/** Text of a missing attribute, as in BLAST. */
const MISSING = 'N/A';
const field = (label: string, text: Field['text']): Field => ({ label, text });
const ofQuery = (label: string, text: Field['text']): Field => ({ label, text, needsQuery: true });

/**
 * Names of BLAST's -outfmt 6 and 7, and those that DIAMOND adds, with their meanings there.
 * Unit    identity and coverage in per cent; positions from 1, ends inclusive; `score` and `bitscore` are Gloaming's
 * Range   `evalue` without calibration is the count of searched targets, and `bitscore` is 0, unless the search names
 *         another text; a missing attribute is N/A
 * Source  BLAST Command Line Applications User Manual, appendix C; DIAMOND's manual
 */
export const BLAST_FIELDS: Fields = {
  qseqid: field('query id', ({ query }) => idText(query.id)),
  qacc: field('query acc.', ({ query }) => idText(query.id)),
  qaccver: field('query acc.ver', ({ query }) => idText(query.id)),
  qlen: field('query length', ({ alignment }) => alignment.query_length),
  sseqid: field('subject id', ({ candidate }) => idText(candidate.target.id)),
  sallseqid: field('subject ids', ({ candidate }) => idText(candidate.target.id)),
  sacc: field('subject acc.', ({ candidate }) => idText(candidate.target.id)),
  saccver: field('subject acc.ver', ({ candidate }) => idText(candidate.target.id)),
  slen: field('subject length', ({ alignment }) => alignment.target_length),
  qstart: field('q. start', ({ alignment }) => alignment.query_start + 1),
  qend: field('q. end', ({ alignment }) => alignment.query_end),
  sstart: field('s. start', ({ alignment }) => alignment.target_start + 1),
  send: field('s. end', ({ alignment }) => alignment.target_end),
  qseq: ofQuery('query seq', ({ lines }) => lines.query),
  sseq: ofQuery('subject seq', ({ lines }) => lines.target),
  full_qseq: ofQuery('full query seq', ({ querySequence }) => querySequence),
  full_sseq: field('full subject seq', ({ candidate }) => candidate.target.sequence),
  evalue: field('evalue', (row) => row.missingText ?? eValueText(row.eValue)),
  bitscore: field('bit score', (row) => row.missingText ?? row.bitScore.toFixed(1)),
  score: field('score', ({ candidate }) => candidate.measurements.affine.raw_score),
  length: field('alignment length', ({ columnCount }) => columnCount),
  pident: field('% identity', ({ identityPercent }) => identityPercent.toFixed(3)),
  nident: field('identical', ({ alignment }) => alignment.identical_residue_count),
  mismatch: field('mismatches', ({ mismatchCount }) => mismatchCount),
  positive: ofQuery('positives', ({ positiveCount }) => positiveCount),
  gapopen: field('gap opens', ({ alignment }) => alignment.gap_opening_count),
  gaps: field('gaps', ({ alignment }) => alignment.gap_residue_count),
  ppos: ofQuery('% positives', ({ positiveCount, columnCount }) =>
    ((100 * positiveCount) / columnCount).toFixed(2),
  ),
  btop: ofQuery('BTOP', btop),
  cigar: field('CIGAR', plainCigar),
  staxid: field('subject tax id', (row) => row.attribute('taxid') ?? MISSING),
  staxids: field('subject tax ids', (row) => row.attribute('taxid') ?? MISSING),
  ssciname: field('subject sci name', (row) => cellText(row.attribute('organism') ?? MISSING)),
  sscinames: field('subject sci names', (row) => cellText(row.attribute('organism') ?? MISSING)),
  stitle: field('subject title', ({ targetTitle }) => cellText(targetTitle) || MISSING),
  salltitles: field('subject titles', ({ targetTitle }) => cellText(targetTitle) || MISSING),
  qcovs: field('% query coverage per subject', ({ pairQueryCoverage }) => percent(pairQueryCoverage)),
  qcovhsp: field('% query coverage per hsp', ({ alignment }) => percent(alignment.query_coverage_ratio)),
  scovhsp: field('% subject coverage per hsp', ({ alignment }) => percent(alignment.target_coverage_ratio)),
};

/** `std` of -outfmt 6, in the order of BLAST, DIAMOND and MMseqs2. */
export const BLAST_STANDARD =
  'qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore'.split(' ');

/**
 * Names of MMseqs2's --format-output, with their meanings there: `qseq` and `tseq` are whole sequences.
 * Unit    `fident`, `qcov` and `tcov` are ratios, `pident` is per cent; `prob` is the probability of homology
 * Source  MMseqs2 user guide, convertalis
 */
export const MMSEQS_FIELDS: Fields = {
  query: { text: BLAST_FIELDS['qseqid'].text },
  target: { text: BLAST_FIELDS['sseqid'].text },
  evalue: { text: (row) => row.missingText ?? eValueText(row.eValue, 3).replace('e', 'E') },
  gapopen: { text: BLAST_FIELDS['gapopen'].text },
  pident: { text: BLAST_FIELDS['pident'].text },
  fident: { text: ({ alignment }) => alignment.sequence_identity_ratio.toFixed(3) },
  nident: { text: BLAST_FIELDS['nident'].text },
  qstart: { text: BLAST_FIELDS['qstart'].text },
  qend: { text: BLAST_FIELDS['qend'].text },
  qlen: { text: BLAST_FIELDS['qlen'].text },
  tstart: { text: BLAST_FIELDS['sstart'].text },
  tend: { text: BLAST_FIELDS['send'].text },
  tlen: { text: BLAST_FIELDS['slen'].text },
  alnlen: { text: BLAST_FIELDS['length'].text },
  raw: { text: BLAST_FIELDS['score'].text },
  bits: { text: (row) => row.missingText ?? Math.round(row.bitScore) },
  cigar: { text: plainCigar },
  qseq: { text: ({ querySequence }) => querySequence, needsQuery: true },
  tseq: { text: BLAST_FIELDS['full_sseq'].text },
  qheader: { text: BLAST_FIELDS['qseqid'].text },
  theader: { text: (row) => cellText(`${row.candidate.target.id} ${row.targetTitle}`.trimEnd()) },
  qaln: { text: ({ lines }) => lines.query, needsQuery: true },
  taln: { text: ({ lines }) => lines.target, needsQuery: true },
  mismatch: { text: BLAST_FIELDS['mismatch'].text },
  qcov: { text: ({ alignment }) => alignment.query_coverage_ratio.toFixed(3) },
  tcov: { text: ({ alignment }) => alignment.target_coverage_ratio.toFixed(3) },
  taxid: { text: (row) => row.attribute('taxid') ?? 0 },
  prob: { text: ({ probability }) => probability?.toFixed(3) ?? 'nan' },
  taxname: { text: (row) => cellText(row.attribute('organism') ?? 'unclassified') },
};

/** Default columns of --format-output. */
export const MMSEQS_STANDARD =
  'query,target,fident,alnlen,mismatch,gapopen,qstart,qend,tstart,tend,evalue,bits'.split(',');

/** These formats end an id at the first blank. */
export function idText(id: string): string {
  return id.replaceAll(/\s/g, '_') || '_';
}

/** A tab or line end inside a value would start a new cell or row. */
export function cellText(value: string): string {
  return value.replace(/[\t\r\n]/g, ' ');
}

/** An E-value to some digits; 0 if a double underflows, as in BLAST. */
export function eValueText(value: number, digits = 2): string {
  if (value === 0) return '0.0';
  if (value < 1e-3 || value >= 1e5) return value.toExponential(digits);
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(digits + 1)));
}

function percent(ratio: number): string {
  return (100 * ratio).toFixed(0);
}

/** CIGAR with `M` for identical and other pairs, as in DIAMOND and MMseqs2; gaps as in the extended CIGAR. */
function plainCigar({ alignment }: AlignedRow): string {
  let text = '';
  let pairs = 0;
  for (const { operation, length } of cigarRuns(alignment.cigar)) {
    if (operation === '=' || operation === 'X') {
      pairs += length;
      continue;
    }
    text += `${pairs === 0 ? '' : `${pairs}M`}${length}${operation}`;
    pairs = 0;
  }
  return pairs === 0 ? text : `${text}${pairs}M`;
}

/** Run lengths of identical columns, and the two letters of every other column. */
function btop({ lines }: AlignedRow): string {
  let text = '';
  let identical = 0;
  for (let column = 0; column < lines.query.length; column += 1) {
    if (lines.query[column] === lines.target[column]) {
      identical += 1;
      continue;
    }
    text += `${identical === 0 ? '' : identical}${lines.query[column]}${lines.target[column]}`;
    identical = 0;
  }
  return `${text}${identical === 0 ? '' : identical}`;
}
