import type { MsaChoice } from '../../contract/msa.js';
import type { ExportRunInput, Missing } from '../../contract/runs/run-files.js';
import { Refusal } from '../../errors.js';
import { askRows } from '../msa/select-rows.js';
import { pickCutOffs } from '../select.js';
import { A3mEncoder, A3mTarEncoder } from './alignment-files.js';
import { ArrowEncoder } from './arrow.js';
import { BlastXmlEncoder } from './blast-xml.js';
import { EXPORT_COLUMNS, WIDE_ALIGNMENT_COLUMNS } from './columns.js';
import { areOfPairs } from './fields.js';
import { ParquetEncoder } from './parquet.js';
import type { ExportEncoder, ExportedSearch } from './rows.js';
import { fieldsOf, M8, readFormatOutput, readOutfmt, type TableSpec } from './table-spec.js';
import { fastaEncoder, tableEncoder, wideEncoder } from './text.js';

export interface ExportFormat {
  readonly extension: string;
  readonly contentType: string;
  /** A candidate without an alignment gives no record. */
  readonly needsAlignments: boolean;
  /** Needs the sequences of the queries. */
  readonly needsQueries: boolean;
  /** Gets all candidates of a query at once. */
  readonly needsWholeQueries: boolean;
  /** Holds the candidates of a single query. */
  readonly isOfOneQuery: boolean;
  /** Holds propagated hits beside the candidates. */
  readonly holdsPropagation?: boolean;
  encoder(search: ExportedSearch): ExportEncoder;
}

/** All settings that determine the format of a file. */
export interface ExportOptions extends Omit<ExportRunInput, 'run_id' | 'path' | 'query_index' | 'msa'> {
  readonly msa?: Partial<MsaChoice>;
}

export const TSV_TYPE = 'text/tab-separated-values';

const PLAIN = { needsAlignments: false, needsQueries: false, needsWholeQueries: false, isOfOneQuery: false };
const TEXT = { ...PLAIN, extension: 'txt', contentType: 'text/plain; charset=utf-8' };
const TABLE = { ...PLAIN, extension: 'tsv', contentType: `${TSV_TYPE}; charset=utf-8` };

/** Writer of a contract format. Errors  Refusal `export_not_possible` for unknown columns */
export function formatOf(options: ExportOptions): ExportFormat {
  const { format, outfmt = '6', format_output: formatOutput = '', missing } = options;
  switch (format) {
    case 'fasta':
      return { ...TEXT, extension: 'fasta', encoder: fastaEncoder };
    case 'tsv':
      return {
        ...TABLE,
        holdsPropagation: true,
        encoder: (search) => wideEncoder(search, WIDE_ALIGNMENT_COLUMNS),
      };
    case 'm8':
      return { ...tableFormat(M8, missing), extension: 'm8' };
    case 'blast':
      return tableFormat(readOutfmt(outfmt), missing);
    case 'mmseqs':
      return tableFormat(readFormatOutput(formatOutput), missing);
    case 'a3m':
      return alignmentFormat(options);
    case 'parquet':
      return {
        ...PLAIN,
        holdsPropagation: true,
        extension: 'parquet',
        contentType: 'application/vnd.apache.parquet',
        encoder: (search) => new ParquetEncoder(search),
      };
    case 'arrow':
      return {
        ...PLAIN,
        holdsPropagation: true,
        extension: 'arrow',
        contentType: 'application/vnd.apache.arrow.file',
        encoder: (search) => new ArrowEncoder(search, EXPORT_COLUMNS),
      };
  }
}

/**
 * A table in the columns of another tool.
 * Errors  Refusal `export_not_possible` for XML with a text in place of numbers
 */
export function tableFormat(spec: TableSpec, missing?: Missing): ExportFormat {
  if (spec.kind === 'blast_xml') {
    if (missing !== undefined)
      throw new Refusal(
        'export_not_possible',
        'The XML of outfmt 5 holds numbers only: leave out "missing".',
        {
          param: 'missing',
        },
      );
    return {
      ...PLAIN,
      extension: 'xml',
      contentType: 'application/xml',
      needsAlignments: true,
      needsQueries: true,
      needsWholeQueries: true,
      encoder: (search) => new BlastXmlEncoder(search),
    };
  }
  const fields = fieldsOf(spec);
  return {
    ...TABLE,
    needsAlignments: !areOfPairs(fields),
    needsQueries: fields.some(({ needsQuery }) => needsQuery === true),
    needsWholeQueries: spec.kind === 'blast' && spec.hasComments,
    encoder: (search) => tableEncoder({ ...search, missing }, spec),
  };
}

/** The export's cut-offs and order apply to its alignments. */
function alignmentFormat({
  msa,
  sort = 'rank',
  all_queries: isTar = false,
  ...options
}: ExportOptions): ExportFormat {
  const rows = askRows(pickCutOffs(options), sort, msa);
  const needs = { ...TEXT, needsAlignments: true, needsQueries: true, needsWholeQueries: true };
  if (!isTar) return { ...needs, isOfOneQuery: true, extension: 'a3m', encoder: () => new A3mEncoder(rows) };
  const contentType = 'application/x-tar';
  return { ...needs, contentType, extension: 'tar', encoder: () => new A3mTarEncoder(rows) };
}
