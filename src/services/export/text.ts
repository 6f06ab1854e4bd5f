import type { HomologyCandidate } from '../../contract/search/candidate-set.js';
import { Refusal } from '../../errors.js';
import { EXPORT_FASTA_MAX_TARGETS } from '../../limits.js';
import { AlignedRow } from './aligned-row.js';
import { columnsOfSearch, type ExportColumn } from './columns.js';
import { areOfPairs, cellText, idText, type Field } from './fields.js';
import { PairRow } from './pair-row.js';
import { columnRows } from './propagated.js';
import {
  alignedRows,
  RowEncoder,
  type ColumnRow,
  type ExportEncoder,
  type ExportedSearch,
  type ExportQuery,
  type ExportRow,
} from './rows.js';
import { fieldsOf, type TableSpec } from './table-spec.js';

const FASTA_LINE_RESIDUES = 60;

/**
 * FASTA of the targets. A target of several queries is written once, under the first of them, because readers use an id
 * as the key of its record.
 */
export function fastaEncoder(search: ExportedSearch): ExportEncoder {
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
  return new RecordEncoder(search, alignedRows, (row) => (isNew(row) ? fastaRecord(row) : ''));
}

/**
 * Gloaming's own columns under a header line, and those of propagation if the search was propagated. An absent value is
 * an empty cell.
 */
export function wideEncoder(search: ExportedSearch, direct: readonly ExportColumn[]): ExportEncoder {
  const columns = columnsOfSearch(search, direct);
  const head = `${columns.map(({ name }) => name).join('\t')}\n`;
  const line = (row: ColumnRow): string =>
    `${columns.map(({ value }) => cellText(String(value(row) ?? ''))).join('\t')}\n`;
  const rowsOf = search.isPropagated === true ? columnRows : alignedRows;
  return new RecordEncoder<ColumnRow>(search, rowsOf, line, { head });
}

/** The columns of another tool, one line for each alignment. */
export function tableEncoder(
  search: ExportedSearch,
  spec: Exclude<TableSpec, { kind: 'blast_xml' }>,
): ExportEncoder {
  const fields = fieldsOf(spec);
  const cellsOf = cellsFor(fields);
  const line = (row: ExportRow): string => {
    const cells = cellsOf(row);
    return cells === undefined ? '' : `${cells.join('\t')}\n`;
  };
  if (spec.kind === 'mmseqs' || !spec.hasComments) return new RecordEncoder(search, alignedRows, line);
  const labels = fields.map(({ label }) => label).join(', ');
  let queryCount = 0;
  return new RecordEncoder(search, alignedRows, line, {
    above: (query, recordCount) => {
      queryCount += 1;
      return [
        `# GLOAMING in the columns of BLASTP`,
        `# Query: ${idText(query.id)}`,
        `# Database: ${cellText(search.database)}`,
        ...(recordCount === 0 ? [] : [`# Fields: ${labels}`]),
        `# ${recordCount} hits found\n`,
      ].join('\n');
    },
    tail: () => `# BLAST processed ${queryCount} queries\n`,
  });
}

/** Returns a function that gives the cells of a row; undefined for a candidate that is not aligned. */
function cellsFor(fields: readonly Field[]): (row: ExportRow) => readonly (string | number)[] | undefined {
  if (areOfPairs(fields)) {
    return (row) => {
      const pair = PairRow.of(row);
      return pair && fields.map(({ text }) => text(pair));
    };
  }
  return (row) => {
    const aligned = AlignedRow.of(row);
    return aligned && fields.map(({ text }) => text(aligned));
  };
}

interface Around {
  /** Text before all records. */
  readonly head?: string;
  /** Text before the `recordCount` records of a query. */
  readonly above?: (query: ExportQuery, recordCount: number) => string;
  /** Text after all records. */
  readonly tail?: () => string;
}

/** Makes the rows of one query. */
type RowsOf<Row> = (
  query: ExportQuery,
  search: ExportedSearch,
  candidates: readonly HomologyCandidate[],
) => readonly Row[];

/** A text with one record for each row of each query. */
class RecordEncoder<Row extends ColumnRow> extends RowEncoder {
  readonly #search: ExportedSearch;
  readonly #rowsOf: RowsOf<Row>;
  readonly #write: (row: Row) => string;
  readonly #around: Around;
  #pending: string;

  /** @param write text of a record, empty if the row gives none */
  constructor(search: ExportedSearch, rowsOf: RowsOf<Row>, write: (row: Row) => string, around: Around = {}) {
    super();
    this.#search = search;
    this.#rowsOf = rowsOf;
    this.#write = write;
    this.#around = around;
    this.#pending = around.head ?? '';
  }

  add(query: ExportQuery, candidates: readonly HomologyCandidate[]): Uint8Array {
    const records = this.#rowsOf(query, this.#search, candidates)
      .map((row) => ({ row, text: this.#write(row) }))
      .filter(({ text }) => text !== '');
    this.count(records.map(({ row }) => row));
    const texts = records.map(({ text }) => text);
    this.#pending += (this.#around.above?.(query, records.length) ?? '') + texts.join('');
    return this.#take();
  }

  end(): Uint8Array {
    this.#pending += this.#around.tail?.() ?? '';
    return this.#take();
  }

  #take(): Uint8Array {
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    return bytes;
  }
}

function fastaRecord({ query, candidate }: ExportRow): string {
  const { rank, target, measurements } = candidate;
  const { name } = target.attributes;
  const about = [
    ...(typeof name === 'string' && name !== '' ? [name] : []),
    `query=${query.id}`,
    `rank=${rank}`,
    // Quantisation can make the distance of a protein to itself slightly negative.
    `distance=${Math.max(0, measurements.maxsim.bidirectional).toFixed(4)}`,
    `score=${measurements.affine.raw_score}`,
  ];
  const header = `>${idText(target.id)} ${about.join(' ').replaceAll(/\s+/g, ' ')}\n`;
  const lines: string[] = [];
  for (let start = 0; start < target.sequence.length; start += FASTA_LINE_RESIDUES) {
    lines.push(`${target.sequence.slice(start, start + FASTA_LINE_RESIDUES)}\n`);
  }
  return header + lines.join('');
}
