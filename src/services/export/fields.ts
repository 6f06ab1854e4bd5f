import { cigarRuns } from '../../sequence/cigar.js';
import type { AlignedRow } from './aligned-row.js';
import type { PairRow } from './pair-row.js';

/** A column of a table in BLAST's or MMseqs2's form. */
export type Field = PairField | AlignedField;

/** A column whose values need no alignment path. */
export interface PairField extends Described {
  readonly isOfPair: true;
  readonly text: (row: PairRow) => string | number;
}

interface AlignedField extends Described {
  readonly isOfPair?: undefined;
  readonly text: (row: AlignedRow) => string | number;
}

interface Described {
  /** Needs the sequence of the query. */
  readonly needsQuery?: true;
  /** Name in the comment lines of -outfmt 7. */
  readonly label?: string;
}

type Fields = Readonly<Record<string, Field>>;

/** Whether all columns of a table can be written without alignment paths. */
export function areOfPairs(fields: readonly Field[]): fields is readonly PairField[] {
  return fields.every(({ isOfPair }) => isOfPair === true);
}

/** Text of a missing attribute, as in BLAST. */
const MISSING = 'N/A';
const ofPair = (label: string, text: PairField['text']): PairField => ({ label, text, isOfPair: true });
const ofAlignment = (label: string, text: AlignedField['text']): AlignedField => ({ label, text });
const ofResidues = (label: string, text: AlignedField['text']): AlignedField => ({
  label,
  text,
  needsQuery: true,
});

/**
 * Names of BLAST's -outfmt 6 and 7, and those that DIAMOND adds, with their meanings there.
 * Unit    identity and coverage in per cent; positions from 1, ends inclusive; `score` and `bitscore` are Gloaming's
 * Range   `evalue` without calibration is the count of searched targets, and `bitscore` is 0, unless the search names
 *         another text; a missing attribute is N/A
 * Source  BLAST Command Line Applications User Manual, appendix C; DIAMOND's manual
 */
export const BLAST_FIELDS = {
  qseqid: ofPair('query id', ({ query }) => idText(query.id)),
  qacc: ofPair('query acc.', ({ query }) => idText(query.id)),
  qaccver: ofPair('query acc.ver', ({ query }) => idText(query.id)),
  qlen: ofAlignment('query length', ({ alignment }) => alignment.query_length),
  sseqid: ofPair('subject id', ({ candidate }) => idText(candidate.target.id)),
  sallseqid: ofPair('subject ids', ({ candidate }) => idText(candidate.target.id)),
  sacc: ofPair('subject acc.', ({ candidate }) => idText(candidate.target.id)),
  saccver: ofPair('subject acc.ver', ({ candidate }) => idText(candidate.target.id)),
  slen: ofPair('subject length', ({ candidate }) => candidate.target.sequence.length),
  qstart: ofAlignment('q. start', ({ alignment }) => alignment.query_start + 1),
  qend: ofAlignment('q. end', ({ alignment }) => alignment.query_end),
  sstart: ofAlignment('s. start', ({ alignment }) => alignment.target_start + 1),
  send: ofAlignment('s. end', ({ alignment }) => alignment.target_end),
  qseq: ofResidues('query seq', ({ lines }) => lines.query),
  sseq: ofResidues('subject seq', ({ lines }) => lines.target),
  full_qseq: { ...ofPair('full query seq', ({ querySequence }) => querySequence), needsQuery: true },
  full_sseq: ofPair('full subject seq', ({ candidate }) => candidate.target.sequence),
  evalue: ofPair('evalue', (row) => row.missingText ?? eValueText(row.eValue)),
  bitscore: ofPair('bit score', (row) => row.missingText ?? row.bitScore.toFixed(1)),
  score: ofPair('score', ({ candidate }) => candidate.measurements.affine.raw_score),
  length: ofAlignment('alignment length', ({ columnCount }) => columnCount),
  pident: ofAlignment('% identity', ({ identityPercent }) => identityPercent.toFixed(3)),
  nident: ofAlignment('identical', ({ alignment }) => alignment.identical_residue_count),
  mismatch: ofAlignment('mismatches', ({ mismatchCount }) => mismatchCount),
  positive: ofResidues('positives', ({ positiveCount }) => positiveCount),
  gapopen: ofAlignment('gap opens', ({ alignment }) => alignment.gap_opening_count),
  gaps: ofAlignment('gaps', ({ alignment }) => alignment.gap_residue_count),
  ppos: ofResidues('% positives', ({ positiveCount, columnCount }) =>
    ((100 * positiveCount) / columnCount).toFixed(2),
  ),
  btop: ofResidues('BTOP', btop),
  cigar: ofAlignment('CIGAR', plainCigar),
  staxid: ofPair('subject tax id', (row) => row.attribute('taxid') ?? MISSING),
  staxids: ofPair('subject tax ids', (row) => row.attribute('taxid') ?? MISSING),
  ssciname: ofPair('subject sci name', (row) => cellText(row.attribute('organism') ?? MISSING)),
  sscinames: ofPair('subject sci names', (row) => cellText(row.attribute('organism') ?? MISSING)),
  stitle: ofPair('subject title', ({ targetTitle }) => cellText(targetTitle) || MISSING),
  salltitles: ofPair('subject titles', ({ targetTitle }) => cellText(targetTitle) || MISSING),
  qcovs: ofAlignment('% query coverage per subject', ({ pairQueryCoverage }) => percent(pairQueryCoverage)),
  qcovhsp: ofAlignment('% query coverage per hsp', ({ alignment }) =>
    percent(alignment.query_coverage_ratio),
  ),
  scovhsp: ofAlignment('% subject coverage per hsp', ({ alignment }) =>
    percent(alignment.target_coverage_ratio),
  ),
} satisfies Fields;

/** `std` of -outfmt 6, in the order of BLAST, DIAMOND and MMseqs2. */
export const BLAST_STANDARD =
  'qseqid sseqid pident length mismatch gapopen qstart qend sstart send evalue bitscore'.split(' ');

/**
 * Names of MMseqs2's --format-output, with their meanings there: `qseq` and `tseq` are whole sequences.
 * Unit    `fident`, `qcov` and `tcov` are ratios, `pident` is per cent; `prob` is the probability of homology
 * Source  MMseqs2 user guide, convertalis
 */
export const MMSEQS_FIELDS: Fields = {
  query: BLAST_FIELDS.qseqid,
  target: BLAST_FIELDS.sseqid,
  evalue: ofPair('evalue', (row) => row.missingText ?? eValueText(row.eValue, 3).replace('e', 'E')),
  gapopen: BLAST_FIELDS.gapopen,
  pident: BLAST_FIELDS.pident,
  fident: ofAlignment('fident', ({ alignment }) => alignment.sequence_identity_ratio.toFixed(3)),
  nident: BLAST_FIELDS.nident,
  qstart: BLAST_FIELDS.qstart,
  qend: BLAST_FIELDS.qend,
  qlen: BLAST_FIELDS.qlen,
  tstart: BLAST_FIELDS.sstart,
  tend: BLAST_FIELDS.send,
  tlen: BLAST_FIELDS.slen,
  alnlen: BLAST_FIELDS.length,
  raw: BLAST_FIELDS.score,
  bits: ofPair('bits', (row) => row.missingText ?? Math.round(row.bitScore)),
  cigar: BLAST_FIELDS.cigar,
  qseq: BLAST_FIELDS.full_qseq,
  tseq: BLAST_FIELDS.full_sseq,
  qheader: BLAST_FIELDS.qseqid,
  theader: ofPair('theader', (row) => cellText(`${row.candidate.target.id} ${row.targetTitle}`.trimEnd())),
  qaln: BLAST_FIELDS.qseq,
  taln: BLAST_FIELDS.sseq,
  mismatch: BLAST_FIELDS.mismatch,
  qcov: ofAlignment('qcov', ({ alignment }) => alignment.query_coverage_ratio.toFixed(3)),
  tcov: ofAlignment('tcov', ({ alignment }) => alignment.target_coverage_ratio.toFixed(3)),
  taxid: ofPair('taxid', (row) => row.attribute('taxid') ?? 0),
  prob: ofPair('prob', ({ probability }) => probability?.toFixed(3) ?? 'nan'),
  taxname: ofPair('taxname', (row) => cellText(row.attribute('organism') ?? 'unclassified')),
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
