import type { HomologyCandidate, PairwiseAlignment } from '../../contract/search/candidate-set.js';
import { Refusal } from '../../errors.js';
import { EXPORT_FASTA_MAX_TARGETS } from '../../limits.js';
import { a3mHeader, a3mRow } from '../../sequence/a3m.js';
import { LONE_QUERY_ID, type ExportEncoder, type ExportRow } from './rows.js';

const FASTA_LINE_RESIDUES = 60;

/**
 * FASTA of the targets. One that several queries found stands once, under the first of them: readers take an id for the
 * key of its record.
 */
export function fastaEncoder(): ExportEncoder {
  const seen = new Set<string>();
  const isNew = ({ candidate: { target } }: ExportRow): boolean => {
    if (seen.has(target.id)) return false;
    if (seen.size === EXPORT_FASTA_MAX_TARGETS) {
      throw new Refusal(
        'export_not_possible',
        `FASTA holds at most ${EXPORT_FASTA_MAX_TARGETS} distinct targets; Parquet and Arrow hold all.`,
      );
    }
    seen.add(target.id);
    return true;
  };
  return new RecordEncoder((row) => (isNew(row) ? fastaRecord(row) : ''));
}

/**
 * The twelve columns of BLAST's tabular output, without a header line: query, target, per cent identity, columns,
 * mismatches, gap openings, first and last position of query and target from 1, E-value, bit score.
 * Range   a number that no calibration supports is `nan`, which readers take as one; so is a mismatch any aligned pair
 *         that is not identical
 * Source  BLAST Command Line Applications User Manual, -outfmt 6
 */
export function tsvEncoder(): ExportEncoder {
  return new RecordEncoder(({ queryId, candidate }) => {
    const alignment = alignedPart(candidate);
    return alignment === undefined ? '' : `${blastCells(queryId, candidate, alignment).join('\t')}\n`;
  });
}

/** A3M as the alignments of `sequences.msa.build` are written, with every aligned candidate. */
export function a3mEncoder(query: string): ExportEncoder {
  return new RecordEncoder(({ candidate }) => a3mRecord(candidate, query), `>${LONE_QUERY_ID}\n${query}\n`);
}

class RecordEncoder implements ExportEncoder {
  readonly #write: (row: ExportRow) => string;
  #pending: string;
  #recordCount = 0;

  /** @param write the text of a record, empty where the candidate is none */
  constructor(write: (row: ExportRow) => string, start = '') {
    this.#write = write;
    this.#pending = start;
  }

  get recordCount(): number {
    return this.#recordCount;
  }

  add(rows: readonly ExportRow[]): Uint8Array {
    for (const row of rows) {
      const text = this.#write(row);
      if (text !== '') this.#recordCount += 1;
      this.#pending += text;
    }
    return this.end();
  }

  end(): Uint8Array {
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    return bytes;
  }
}

function fastaRecord({ queryId, candidate }: ExportRow): string {
  const { rank, target, measurements } = candidate;
  const { name } = target.attributes;
  const about = [
    ...(typeof name === 'string' && name !== '' ? [name] : []),
    `query=${queryId}`,
    `rank=${rank}`,
    `distance=${measurements.maxsim.bidirectional}`,
  ];
  const header = `>${word(target.id)} ${about.join(' ').replaceAll(/\s+/g, ' ')}\n`;
  const lines: string[] = [];
  for (let start = 0; start < target.sequence.length; start += FASTA_LINE_RESIDUES) {
    lines.push(`${target.sequence.slice(start, start + FASTA_LINE_RESIDUES)}\n`);
  }
  return header + lines.join('');
}

function blastCells(
  queryId: string,
  { target, significance }: HomologyCandidate,
  alignment: PairwiseAlignment,
): readonly (string | number)[] {
  const { expected_false_hits: eValue = NaN, bit_score: bits = NaN } = significance.measurements;
  const paired = alignment.aligned_residue_count;
  return [
    word(queryId),
    word(target.id),
    (100 * alignment.sequence_identity_ratio).toFixed(3),
    paired + alignment.gap_residue_count,
    paired - alignment.identical_residue_count,
    alignment.gap_opening_count,
    alignment.query_start + 1,
    alignment.query_end,
    alignment.target_start + 1,
    alignment.target_end,
    numeral(eValue),
    numeral(bits),
  ];
}

/** A candidate as a row of A3M with its header line; empty where nothing of it is aligned. */
export function a3mRecord(candidate: HomologyCandidate, query: string): string {
  const alignment = alignedPart(candidate);
  if (alignment === undefined) return '';
  const { target, measurements, significance } = candidate;
  const expectedFalseHits = significance.measurements.expected_false_hits;
  const place = {
    queryStart: alignment.query_start,
    queryLength: query.length,
    targetStart: alignment.target_start,
  };
  const header = a3mHeader({
    id: target.id,
    score: measurements.affine.raw_score,
    sequenceIdentityRatio: alignment.sequence_identity_ratio,
    ...(expectedFalseHits !== undefined && { expectedFalseHits }),
    queryEnd: alignment.query_end,
    targetEnd: alignment.target_end,
    targetLength: target.sequence.length,
    ...place,
  });
  return `>${header}\n${a3mRow({ cigar: alignment.cigar, target: target.sequence, ...place })}\n`;
}

function alignedPart({ alignment }: HomologyCandidate): PairwiseAlignment | undefined {
  return alignment === undefined || alignment.cigar === '' ? undefined : alignment;
}

/** An id is one word to these formats. */
function word(id: string): string {
  return id.replaceAll(/\s/g, '_') || '_';
}

function numeral(value: number): string {
  return Number.isNaN(value) ? 'nan' : String(value);
}
